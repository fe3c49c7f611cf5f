// Package schema compiles the schema of a kind into one tree. All code that depends on the
// structure of an object walks this tree: pruning, nulls and defaults, fast acceptance,
// list types, embedded resources and the ownership of fields.
//
// One walk over an object normalizes it: it drops unknown fields and forbidden nulls, and
// fills in the defaults. The same walk finds out the facts that later stages of a write
// need. The facts travel with the object, those of its status apart from those of the rest.
// For example, an update of a Certificate walks the new object once when it is decoded. The
// update takes the status from the stored object, with the facts of that status; validation
// then looks at the facts, and only the metadata is walked again. A merge patch makes an
// object that shares with the stored one what the patch does not touch, and only what it
// touches is walked.
//
// Invariants: a tree is immutable once it is compiled, and safe for concurrent use.
// Normalizing gives exactly upstream's result. A fact means that upstream's library would not
// find an error. A missing fact means nothing: then the library is called, and its errors are the
// answer. One differential test harness holds every walk to that.
package schema
