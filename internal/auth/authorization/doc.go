// Package authorization decides what a user may do, and says which rights somebody needed.
//
// [Rules] are the roles and bindings in a store. They are read when a user other than an
// administrator makes a request, and again when they have changed. Upstream's code evaluates
// them. An index finds the bindings that name a user, so that the others cost nothing.
//
// [Modes] use them, or the policies of a file, or a webhook, or allow or deny everything, as the
// flags --authorization-* say. What a node may do follows from the Pods that are bound to it.
// Upstream's graph of them is brought up to date when a node makes a request.
//
// # Invariants
//
//   - A decision follows from the newest revision of the store at the time of the request.
//   - Members of system:masters are allowed everything without a look at the rules.
//   - Nothing here writes to the store.
//
// # Locks
//
// The recorded requests have a mutex, which is held for a few statements. The graph of nodes has
// one that is held while the store is read, and a configuration in a file has one that is held while the
// file is read. An index is immutable, except that it parses roles when they are first needed, and is
// swapped atomically.
package authorization
