// Package authorization authorizes requests, and computes the rules that users need.
//
// [Rules] are the roles and bindings in a store. They are read for the first request of a user other than an
// administrator, and after changes. Upstream's code evaluates them. An index finds the bindings of a user, so that
// others cost nothing.
//
// [Modes] use them, the policies of a file, or a webhook, or allow or deny everything, as the flags --authorization-*
// configure. The rights of a node depend on the Pods that are bound to it. Upstream's graph of them is updated when a
// node sends a request.
//
// # Invariants
//
//   - A decision is based on the newest revision of the store at the time of the request.
//   - Members of system:masters are allowed everything without reading the rules.
//   - Nothing here writes to the store.
//
// # Locks
//
// The recorded requests have a mutex, which is held for a few statements. The graph of nodes has
// one that is held while the store is read, and a configuration in a file has one that is held while the
// file is read. An index is immutable, except that it parses roles when they are first needed, and is
// swapped atomically.
package authorization
