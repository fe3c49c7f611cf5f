// Package auth says who makes a request, and what that user may do.
//
// # Who
//
// An [Authenticator] knows the users of one cluster. Each of them brings one of these:
//
//   - the cluster's own token. Its user is [Admin], of the group that may do everything.
//   - a token of [Authenticator.TokenFor] or [Authenticator.TokenForServiceAccount]. It says
//     itself who the user is, and is signed with a key that follows from the cluster's token.
//     So nothing is kept for it, and a fork, which has the same token, accepts it too.
//   - a JSON Web Token of a service account, which an [Issuer] has signed. Upstream's code
//     verifies it: its time, its audiences, and that the service account and the object it is
//     bound to are still there.
//   - over TLS, a client certificate of an [Authority], made for the cluster.
//   - what [Options] add, as the flags of kube-apiserver do: certificates of another authority,
//     bearer tokens of a file, or nothing at all for the anonymous user. [IssuerOptions] say whose
//     tokens of service accounts are accepted.
//
// A token that was accepted once is remembered, with what has to be checked each time: its
// signature is not verified again.
//
// # What
//
// [Rules] are the roles and bindings in a store. They are read when somebody asks who is not an
// administrator, and read again when the store has changed them. Upstream's code evaluates them.
// [ByModes] asks them, or allows or denies everything, as the flag --authorization-mode says.
// An index leads from a user to the bindings that name the user, so that the others cost nothing.
//
// # Invariants
//
//   - A decision is that of the newest revision of the store at the time of the question.
//   - Members of system:masters are never asked about in the rules.
//   - Nothing here writes to the store.
//
// # Locks
//
// The tokens that are remembered and the requests that are recorded have a mutex each, which is
// held for a few statements. An index is immutable, but for what it has parsed, and is swapped
// atomically.
package auth
