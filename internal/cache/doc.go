// Package cache provides the bounded LRU cache that all caches of the process use. A [Cache] keeps
// values that are expensive to make, by the content that they were made from.
//
// A test suite starts many clusters with the same definitions. The first cluster reads the
// YAML, compiles the schemas and the CEL expressions, and makes the types for server-side
// apply. The clusters that follow find all of it by the hash of the text.
//
// # The caches of the process
//
// Each cache is a package variable beside the code that makes its values:
//
//	package                    variable            keeps                                        limit
//	internal/admission/policy  compiledMutating    a compiled MutatingAdmissionPolicy           256
//	internal/admission/policy  compiledValidating  a compiled ValidatingAdmissionPolicy         256
//	internal/builtin           initials            the initial objects of a set of options      16
//	internal/builtin           kindTypes           the types of a kind, for apply               256
//	internal/builtin           made                the built-in resources of a set of options   16
//	internal/crd               compiledSchemas     the compiled schema of a version             1024
//	internal/crd               readDefinitions     a definition, by the body of its request     16 MiB of text
//	internal/crd               sharedSpecs         the last spec of definitions of a name       16 MiB of text
//	internal/crd               typeConverters      the types of a definition, for apply         256
//	internal/flowcontrol       levelSpecs          the spec of a PriorityLevelConfiguration     256
//	internal/flowcontrol       schemaSpecs         the spec of a FlowSchema                     256
//	internal/manifests         readFiles           the manifests of a file                      32 MiB of text
//	internal/openapi           typesV2             the OpenAPI v2 of a server's Go types        16
//	internal/openapi           typesV3             an OpenAPI v3 document of Go types           256
//	internal/release           laterFields         the later fields of a Go type                512
//	internal/resource          factories           the codecs of a scheme                       16
//
// A test compares this table with the code. Besides these caches, the process has values that
// are made once, when they are first needed (sync.Once and its relatives), such as the CEL
// environment or the printers of the built-in kinds. A codec of a Go type also stores the length
// of the last text that it has made, for the size of the next buffer.
//
// A cluster has Caches of its own as well: its decoded objects (resource.Memory), and what conversion webhooks have made of
// objects (resource.Conversions).
//
// # What always holds
//
//   - A value follows from its key alone. It does not depend on the cluster: on its clock, its
//     seed, or an option that is not part of the key. The key of sharedSpecs is a group and a plural
//     name; a value is used only for a spec that equals its own, and replaced by one that differs.
//   - Only timing shows a cluster that another cluster has used a cache. A value either
//     never changes after Put, or what it keeps later follows from its content, too. For
//     example, an entry of sharedSpecs computes the warnings of its spec when they are first needed.
//     Such a value has its own mutex or sync.Once. What it keeps does not count towards the
//     limit, but it is bounded (for sharedSpecs: the warnings and violations of the spec, and the
//     metadata and status of one definition, and the one that it has replaced).
//   - A cache has a limit. Beyond it, the values that were used longest ago are dropped.
//
// # Locks
//
// A Cache has one mutex. It is held for a look-up only, never while a value is made, so that
// no goroutine waits for the work on another value. Goroutines that want one value of Make at the same time wait at the mutex of
// its sync.OnceValues, also those of different testing/synctest bubbles: a goroutine that waits for a mutex only stops the time of its bubble. So
// what Make calls computes, and does not wait for anything.
package cache
