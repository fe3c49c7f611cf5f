// Package resource describes the served kinds: a Resource with its Versions, and the Registry of them.
//
// Verb handlers and the write pipeline use a resource only through these types. They never check whether it is built in
// or defined by a CustomResourceDefinition: the values of these types differ.
//
// Invariants:
//
//   - A Registry never changes. When the served kinds change, there is a new Registry; a
//     request uses one from start to end. Registries and forks share resources.
//   - A part that is slow to create is created when it is first used: field managers, types for server-side apply,
//     OpenAPI documents. It depends only on the definition of the resource, and is safe for concurrent use.
//   - The Memory of a cluster keeps the owners of a stored object's fields beside the
//     decoded object. A resource caches no object, except results of a conversion webhook (Conversions).
package resource
