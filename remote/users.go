package remote

import "github.com/fakecluster/fakecluster/remote/inspect"

// Config has the address of a cluster and the credentials of a user. Its fields have the names of
// client-go's rest.Config:
//
//	cfg := c.ConfigFor("jane")
//	&rest.Config{Host: cfg.Host, BearerToken: cfg.BearerToken, QPS: -1,
//		TLSClientConfig: rest.TLSClientConfig{CAData: cfg.CAData, CertData: cfg.CertData, KeyData: cfg.KeyData}}
type Config struct {
	Host                      string
	BearerToken               string
	CAData, CertData, KeyData []byte // as PEM; nil without TLS
	// Kubeconfig is a kubeconfig file with the same user, over HTTPS.
	Kubeconfig []byte

	user map[string]any // nil: the administrator
}

// Config returns the address of the cluster and the credentials of its administrator, who may do everything.
func (c *Cluster) Config() Config {
	return Config{Host: c.description.URL, BearerToken: c.description.Token, CAData: pem(c.description.CertificateAuthority), Kubeconfig: []byte(c.description.Kubeconfig)}
}

func pem(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

// ConfigFor returns the address of the cluster and credentials of a user with any name, who is a member of
// the groups. The user may do what Roles and their bindings allow.
func (c *Cluster) ConfigFor(user string, groups ...string) Config {
	if c.test != nil {
		c.test.Helper()
	}
	return c.configOf(map[string]any{"user": user, "groups": groups})
}

// ServiceAccountConfig returns the address of the cluster and credentials of a service account. Until the
// ServiceAccount exists, requests are answered with 401.
func (c *Cluster) ServiceAccountConfig(namespace, name string) Config {
	if c.test != nil {
		c.test.Helper()
	}
	return c.configOf(map[string]any{"namespace": namespace, "serviceAccount": name})
}

func (c *Cluster) configOf(user map[string]any) Config {
	if c.test != nil {
		c.test.Helper()
	}
	var answer struct{ URL, Token, CertificateAuthority, ClientCertificate, ClientKey, Kubeconfig string }
	if err := c.do("POST", "/credentials", user, &answer); err != nil {
		c.blame(err)
	}
	return Config{
		Host: answer.URL, BearerToken: answer.Token, CAData: pem(answer.CertificateAuthority), CertData: pem(answer.ClientCertificate), KeyData: pem(answer.ClientKey),
		Kubeconfig: []byte(answer.Kubeconfig), user: user,
	}
}

// Access has the requests of a user.
type Access struct {
	// User is the name of the user.
	User string
	// Requests are the requests of the user, allowed or not, each once.
	Requests []inspect.AccessRequest
	// Rules are the fewest rules of a ClusterRole that allow these requests.
	Rules []PolicyRule
}

// PolicyRule is a rule of a ClusterRole.
type PolicyRule struct {
	Verbs, APIGroups, Resources, ResourceNames, NonResourceURLs []string
}

// Access returns the requests of a user until now, and the rules that they need.
func (c *Cluster) Access(user string) Access {
	if c.test != nil {
		c.test.Helper()
	}
	a := Access{User: user}
	c.get("/access?"+query("user", user), &a)
	return a
}
