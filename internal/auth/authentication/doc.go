// Package authentication determines the user of a request.
//
// An [Authenticator] authenticates the users of one cluster. A request has one of these credentials:
//
//   - the cluster's own token. Its user is [Admin], a member of system:masters.
//   - a token of [Authenticator.TokenFor] or [Authenticator.TokenForServiceAccount]. It contains the user, and is
//     signed with a key that is derived from the cluster's token. So the cluster does not store it, and a fork, which
//     has the same token, accepts it, too.
//   - a JSON Web Token of a service account, signed by an [Issuer]. Upstream's code verifies its time, its audiences,
//     and that the service account and the object it is bound to exist.
//   - over TLS, a client certificate of an [Authority] for the cluster.
//   - those of [Users], as the flags of kube-apiserver configure them: certificates of another authority, bearer tokens
//     of a file, of a webhook or of bootstrap Secrets, headers of a proxy, or none for the anonymous user. [Accounts]
//     configures the tokens of service accounts.
//   - the token of a Secret of the type kubernetes.io/service-account-token, while the Secret has it.
//
// Accepted tokens are cached with the checks that each request needs. Their signatures are not verified again.
//
// Nothing here writes to the store, except the label with the last use of a Secret's token, by the server's [Patcher].
//
// The cache of tokens has a mutex, which is held for a few statements. A configuration in a file has one that is held
// while the file is read.
package authentication
