// Package view turns stored bytes into bodies of responses: an object in a version, a list, a Table, metadata alone, or
// the events of a watch, in JSON, YAML or protobuf.
//
// Most bodies are the stored bytes themselves. A record whose tag is the Identity of the requested version is copied;
// any other is decoded and encoded again. The package makes strings and pieces of strings, which package rest writes,
// and knows neither requests nor connections.
//
// Reading goes from the store to the client in three steps:
//
//   - [ReadPage] picks the records that a [Selector] asks for, at one revision.
//   - [Text] and [Texts] are the JSON of records in a version.
//   - A [View] shows that JSON in the [Form] that the client negotiated. The [Events] of a
//     watch do the same with changes.
//
// Some steps have a fast path that reads the bytes and decodes nothing: [Stored], the fields of a selector, the metadata
// and the rows of a list. A fast path may decline, and then the slow path runs. Both give the same results; tests in
// this package compare them on random objects.
//
// Invariants: nothing here changes a record or an object that others may hold. A View, a Selector and Events belong to
// one request. A [Frames] is shared by all watches of a server and safe for concurrent use.
//
// Locks: the mutex of a change's frames is held for look-ups only. No lock is held while anything is converted, encoded
// or read from the store.
package view
