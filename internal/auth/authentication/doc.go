// Package authentication finds out who makes a request.
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
//   - what [Users] add, as the flags of kube-apiserver do: certificates of another authority,
//     bearer tokens of a file, of a webhook or of bootstrap Secrets, the headers of a proxy, or
//     nothing at all for the anonymous user. The [Accounts] say which tokens of service accounts
//     are accepted.
//   - the token of a Secret of the type kubernetes.io/service-account-token, as long as the Secret
//     has it.
//
// A token that has been accepted is remembered, with what has to be checked each time. Its
// signature is not verified again.
//
// Nothing here writes to the store. Only the label of a Secret that says when its token was last
// used is written, by the server's [Patcher].
//
// The remembered tokens have a mutex, which is held for a few statements. A configuration in a file
// has one that is held while the file is read.
package authentication
