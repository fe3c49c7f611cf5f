// Package resource says what is served: a Resource with its Versions, and the
// Registry of them.
//
// Verb handlers and the write pipeline use a resource only through these types. They never
// check whether it is built in or defined by a CustomResourceDefinition: what differs is in
// the values of these types.
//
// Invariants:
//
//   - A Registry never changes. When the served kinds change, there is a new Registry; a
//     request uses one from start to end. Registries and forks share resources.
//   - A part that takes long to make is made when it is first used: the field
//     managers, the types for server-side apply, the OpenAPI documents. The result
//     follows from what the resource was made from. Such a part is safe for
//     concurrent use.
//   - The Memory of a cluster keeps the owners of a stored object's fields beside the
//     decoded object. A resource remembers no object, except for what a webhook
//     has converted (Conversions).
package resource
