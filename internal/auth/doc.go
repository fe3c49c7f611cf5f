// Package auth finds out who makes a request, and what that user may do.
//
// # Who
//
// An [Authenticator] authenticates the users of one cluster. A request has one of these:
//
//   - the cluster's own token. Its user is [Admin], a member of the group that may do
//     everything.
//   - a token of [Authenticator.TokenFor] or [Authenticator.TokenForServiceAccount]. It
//     contains the user, and is signed with a key that follows from the cluster's token. So
//     the cluster need not store it, and a fork, which has the same token, accepts it too.
//   - a JSON Web Token of a service account, which an [Issuer] has signed. Upstream's code
//     verifies it: its time, its audiences, and that the service account and the object it is
//     bound to are still there.
//   - over TLS, a client certificate of an [Authority], made for the cluster.
//   - what [Options] add, as the flags of kube-apiserver do: certificates of another authority,
//     bearer tokens of a file, or nothing at all for the anonymous user. [IssuerOptions] say which
//     tokens of service accounts are accepted.
//
// A token that has been accepted is remembered, with what has to be checked each time. Its
// signature is not verified again.
//
// # What
//
// [Rules] are the roles and bindings in a store. They are read when a user other than an
// administrator makes a request, and again when they have changed. Upstream's code evaluates
// them. [ByModes] uses them, or allows or denies everything, as the flag --authorization-mode
// says. An index finds the bindings that name a user, so that the others cost nothing.
//
// # Invariants
//
//   - A decision follows from the newest revision of the store at the time of the request.
//   - Members of system:masters are allowed everything without a look at the rules.
//   - Nothing here writes to the store.
//
// # Locks
//
// The remembered tokens and the recorded requests have a mutex each, which is held for a few
// statements. An index is immutable, except that it parses roles when they are first needed,
// and is swapped atomically.
package auth
