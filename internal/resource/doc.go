// Package resource says what is served: a Resource with its Versions, and the
// Catalogue of them.
//
// Verb handlers and the write pipeline know a resource only through these
// types. Whether it is compiled into the server or defined by a
// CustomResourceDefinition shows in the values, never in the handlers.
//
// Invariants:
//
//   - What a Catalogue says never changes. A change of what is served makes a new
//     Catalogue; a request uses one from start to end. Catalogues and forks share
//     resources.
//   - A part that takes long to make is made when it is first used: the field
//     managers, the types for server-side apply, the OpenAPI documents. The result
//     follows from what the resource was made from. Such a part is safe for
//     concurrent use.
//   - Who owns the fields of a stored object is kept beside the decoded object, in the
//     Memory of a cluster, and goes with it. A resource remembers no object.
package resource
