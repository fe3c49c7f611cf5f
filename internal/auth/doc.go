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
//     bearer tokens of a file, of a webhook or of bootstrap Secrets, the headers of a proxy, or
//     nothing at all for the anonymous user. The [restoptions.Accounts] say which tokens of service accounts
//     are accepted.
//   - the token of a Secret of the type kubernetes.io/service-account-token, as long as the Secret
//     has it.
//
// A token that has been accepted is remembered, with what has to be checked each time. Its
// signature is not verified again.
//
// # What
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
//   - Nothing here writes to the store. Only the label of a Secret that says when its token was last
//     used is written, by the server's [Patcher].
//
// # Locks
//
// The remembered tokens and the recorded requests have a mutex each, which is held for a few
// statements. The graph of nodes has one that is held while the store is read, and a configuration
// in a file has one that is held while the file is read. An index is immutable, except that it
// parses roles when they are first needed, and is swapped atomically.
package auth
