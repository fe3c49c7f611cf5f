// Package content holds the caches of the process: what takes long to make is kept by the
// content that it is made from.
//
// A test suite starts many clusters with the same definitions. The first cluster reads the
// YAML, compiles the schemas and the CEL expressions, and builds the types for server-side
// apply; those that follow find all of it by the hash of the text. Such caches are the only
// state of the process that changes after its start, and each is a [Cache] of this package.
// They hold the manifests of files, the definitions that were read, what is compiled of
// definitions and schemas, compiled admission policies, and the codecs of schemes. Each is a
// package variable beside the code that makes its values, and says its limit there.
//
// What always holds:
//
//   - A value depends on its key alone. Nothing of a cluster goes into it: no clock, no seed,
//     no option that is not part of the key.
//   - A value does not change after it has been put into a cache. So a cluster can tell that
//     another one exists by time alone.
//   - A cache is bounded. It forgets first what was used longest ago.
//
// A Cache has one mutex. It is held for a look-up only, never while a value is made, so that
// no goroutine waits for the work of another. Two goroutines may make the same value at the
// same time; both get the one that was put first. This also makes caches safe to use in
// testing/synctest bubbles, which may not wait for anything outside.
package content
