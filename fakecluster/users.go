package fakecluster

import (
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/auth/authorization"
)

// Authorization is a mode of kube-apiserver's flag --authorization-mode.
type Authorization string

const (
	// RBAC allows what the Roles and ClusterRoles that are bound to the user allow.
	RBAC Authorization = "RBAC"
	// AlwaysAllow allows everything to every user.
	AlwaysAllow Authorization = "AlwaysAllow"
)

// WithAuthorization sets the mode by which requests of users are authorized. In either mode
// RESTConfig may do everything, and requests without credentials are refused with 401. An unknown
// mode is an error.
//
// Default: RBAC, as with envtest. A cluster of kubeadm also has the mode Node, for kubelets;
// WithAPIServerFlags("--authorization-mode=Node,RBAC") turns it on. Without it, a node is a user of
// the group system:nodes: it may do what the bindings of that group allow, and a new cluster has
// none.
func WithAuthorization(mode Authorization) Option {
	return once("WithAuthorization", func(s *settings) { s.authorization = mode })
}

// WithAuthenticator adds an authenticator for requests that have none of the cluster's credentials,
// as a webhook for tokens would on a real server. Its users are members of the groups that it
// returns, and of no others. Several goroutines may call it at the same time. The option can be
// given once.
//
// Default: such a request is refused with 401.
func WithAuthenticator(a authenticator.Request) Option {
	return once("WithAuthenticator", func(s *settings) { s.authenticator = a })
}

// WithAuthorizer makes an authorizer decide what users may do, in place of the Roles, as a webhook
// would on a real server. Members of system:masters, which include the user of RESTConfig, may
// still do everything. Several goroutines may call it at the same time. The option can be given
// once, and excludes WithAuthorization.
//
// Default: what WithAuthorization says.
func WithAuthorizer(a authorizer.Authorizer) Option {
	return once("WithAuthorizer", func(s *settings) { s.authorizer = a })
}

// ConfigFor returns a client-go configuration for a user with any name, who is a member of the given groups
// and of system:authenticated. The user may do what Roles and their bindings allow; at first that is little
// more than to discover what is served. A member of system:masters may do everything. Requests are not
// rate-limited (QPS is -1).
//
// The configuration has a bearer token or, with WithTLS, a client certificate. Neither
// expires. They are also valid for forks of the cluster, and for no other cluster.
func (c *Cluster) ConfigFor(user string, groups ...string) *clientrest.Config {
	cfg := c.RESTConfig()
	if c.settings.tls {
		// A name that a certificate cannot contain gets a token.
		if certificate, key, err := c.server.Users.CertificateFor(user, groups...); err == nil {
			cfg.BearerToken, cfg.CertData, cfg.KeyData = "", certificate, key
			return cfg
		}
	}
	cfg.BearerToken = c.server.Users.TokenFor(user, groups...)
	return cfg
}

// ServiceAccountConfig returns a client-go configuration for a service account: the user
// system:serviceaccount:NAMESPACE:NAME, of the groups that all service accounts are in. Its bearer
// token does not expire. The ServiceAccount may be created later than the configuration. Until it
// exists, requests are answered with 401, as requests of a Pod whose ServiceAccount has been
// deleted. The configuration is valid for forks of the cluster as well.
//
// For a token like that of a Pod, which is a JSON Web Token and expires, create the
// subresource token of the ServiceAccount.
func (c *Cluster) ServiceAccountConfig(namespace, name string) *clientrest.Config {
	cfg := c.RESTConfig()
	cfg.BearerToken = c.server.Users.TokenForServiceAccount(namespace, name)
	return cfg
}

// readModes sets the authorization modes from WithAuthorization.
func (s *settings) readModes() (err error) {
	if s.authorization != "" {
		s.modes, err = authorization.NewModes(authorization.Options{Modes: []string{string(s.authorization)}})
	}
	return err
}
