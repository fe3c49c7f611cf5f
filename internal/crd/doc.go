// Package crd compiles a CustomResourceDefinition to a resource.Resource, with the schemas, strategies and conversion of
// its custom objects. It also has the kind CustomResourceDefinition itself, and sets the names and conditions of
// definitions. A definition is always stored in v1.
//
// The rules are those of k8s.io/apiextensions-apiserver, whose libraries this package calls wherever they export the
// code.
//
// # What is shared
//
// All requests and forks share a compiled definition, and caches by content share parts of it with other clusters
// (package cache lists them). It is immutable, except for values that are computed from its content and cached:
//
//   - The field engines, types and OpenAPI documents of a version are created when they are first used.
//   - A shared spec (sharedspec.go) caches its warnings and violations, and the last valid definition with this spec.
//     The latter is used only for a definition that equals it in everything that validation reads. The limit of the
//     cache sharedSpecs bounds how many specs are shared.
//
// Results of a conversion webhook are cached (resource.Conversions), up to a limit, in place of the watch cache that a
// real server has for each version. Reads that a real server answers from its watch cache do not call the webhook again:
// lists, watches, and a get with a resourceVersion. If the webhook fails, they return the state before the first object
// that cannot be converted. After 30 seconds, or if objects from before the current spec cannot be converted, they get
// 429. Only requests detect a failure, because nothing is converted in the background: an object that nobody has read in
// a version before the webhook failed is treated as one that could never be converted. A change of the spec clears the
// cache; a change of the status does not.
//
// A conversion webhook is called through the services of one cluster. So a resource with one
// (Resource.ConvertedByWebhook) is compiled again for a fork.
//
// # Locks
//
// A shared spec has one mutex. It is held to compare two definitions without their specs, and never
// together with another lock.
package crd
