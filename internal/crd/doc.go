// Package crd turns a CustomResourceDefinition into a resource.Resource, with the schemas,
// strategies and conversion of its custom objects. It also has the kind
// CustomResourceDefinition itself, and decides about the names and conditions of
// definitions. A definition is stored in v1, in whichever version it was written.
//
// The rules are those of k8s.io/apiextensions-apiserver, whose libraries this
// package calls for all that they publish.
//
// # What is shared
//
// All requests and forks share a compiled definition, and the caches by content share parts
// of it with other clusters (package cache lists them). It never changes, except that it
// keeps values which follow from content that never changes:
//
//   - The field engines, types and OpenAPI documents of a version are made when they are
//     first used. They follow from the definition.
//   - A shared spec (sharedspec.go) has its warnings and violations, and the last definition with
//     this spec that was found valid. The latter counts only for a definition that equals it in all
//     that validation looks at. The limit of the cache sharedSpecs bounds how many specs are shared.
//
// What a conversion webhook has made of a stored object is remembered (resource.Conversions), up to a limit, in the place of
// the watch cache that a real server has for each version. Reads that a real server answers from its cache do
// not call the webhook again: lists, watches, and a get with a resourceVersion. If the webhook fails, they show
// the state before the first object that cannot be converted; after 30 seconds, or if objects from before the present
// spec cannot be converted, there is no cache, and such reads are answered with 429. Only a request finds out about a
// failure: nothing is converted in the background, so an object that nobody has read in a version before the webhook
// fails counts as one that could not be converted from the start. A change of the spec forgets everything, a change
// of the status nothing.
//
// A conversion webhook is called through the services of one cluster. A resource that has
// one (Resource.ConvertedByWebhook) is therefore compiled again for a fork.
//
// # Locks
//
// A shared spec has one mutex. It is held to compare two definitions without their specs, and never
// together with another lock.
package crd
