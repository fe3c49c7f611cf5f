// Package cache provides the bounded LRU cache that all caches of the process use. A [Cache] has values that are
// expensive to compute, by the content from which they were computed.
//
// A test suite starts many clusters with the same definitions. The first cluster parses the YAML, compiles the schemas
// and the CEL expressions, and creates the types for server-side apply. Later clusters find them by the hash of the
// text.
//
// # The caches of the process
//
// Each cache is a package variable beside the code that computes its values:
//
//	package                    variable            keeps                                        limit
//	internal/admission/policy  compiledMutating    a compiled MutatingAdmissionPolicy           256
//	internal/admission/policy  compiledValidating  a compiled ValidatingAdmissionPolicy         256
//	internal/builtin           initials            the initial objects of a set of options      16
//	internal/builtin           kindTypes           the types of a kind, for apply               256
//	internal/builtin           resourcesByOptions  the built-in resources of a set of options   16
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
// A test compares this table with the code. Besides these caches, the process has values that are created once, when
// they are first needed (sync.OnceValue and the like), such as the CEL environment or the printers of the built-in
// kinds. A codec of a Go type also stores the length of its last text, as the size of the next buffer.
//
// A cluster also has its own Caches: of decoded objects (resource.Memory), and of results of conversion webhooks
// (resource.Conversions).
//
// # Invariants
//
//   - A value depends only on its key. It does not depend on the cluster: its clock, its seed, or an option that is not
//     part of the key. The key of sharedSpecs is a group and a plural name; a value is used only for an equal spec, and
//     replaced by one that differs.
//   - A cluster can observe only by timing that another cluster has used a cache. A value is immutable after Put,
//     except for parts that are computed later from its content. For example, an entry of sharedSpecs computes the
//     warnings of its spec when they are first needed. Such a value has its own mutex or sync.Once. These parts do not
//     count towards the limit, but are bounded (for sharedSpecs: the warnings and violations of the spec, and the
//     metadata and status of one definition and of its predecessor).
//   - A cache has a limit. Beyond it, the least recently used values are dropped.
//
// # Locks
//
// A Cache has one mutex. It is held for lookups only, never while a value is computed, so that no goroutine waits for
// another value. Concurrent calls of Make for one key wait at the mutex of a sync.OnceValues, also those of different
// testing/synctest bubbles, whose time then stands still. So the function for Make only computes, and does not wait for
// anything.
package cache
