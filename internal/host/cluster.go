package host

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"

	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/workloads"
)

// cluster is a cluster of a session.
type cluster struct {
	*fakecluster.Cluster // nil: it is in another host
	other                *otherCluster
	id, session          string
	driver               *driver           // nil: the cluster is not in a bubble
	token                string            // of the administrator, in a bubble
	transport            http.RoundTripper // in a bubble
	whole                *cluster          // if this is the cluster as an operator sees it: as its administrator does
	services             []Service         // served by the client
	images               []Image           // run as functions in the process of the client
	host                 *Host
	alive                context.Context // ends with the cluster
	die                  context.CancelFunc

	mu        sync.Mutex
	faults    map[int]faults.Injection
	injected  int                  // number of faults so far, including rejected ones
	answered  map[string]bool      // errors that were answered to a request
	hold      faults.Hold          // nil: none
	workloads *workloads.Workloads // nil: nothing lives in the cluster
	starting  chan struct{}        // closed when the workloads have started; nil: none start
	running   map[string]*running  // functions of the client
	outside   *running             // the sockets that the client has opened outside of its functions
	ran       int                  // number of functions so far
	opened    int                  // number of sockets of functions so far

	ended chan struct{} // closed when the cluster has ended; nil: it does not end; guarded by mu
	errs  []error       // of closing the cluster; set before ended is closed
}

func newCluster(h *Host, c *fakecluster.Cluster) *cluster {
	made := &cluster{Cluster: c, host: h, faults: map[int]faults.Injection{}, answered: map[string]bool{}, running: map[string]*running{}, outside: &running{sockets: map[int]any{}}}
	made.alive, made.die = context.WithCancel(context.Background())
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started++
	made.id = fmt.Sprintf("c%d", h.started)
	return made
}

// life returns what lives in the cluster, or nil.
func (c *cluster) life() *workloads.Workloads {
	if c.whole != nil {
		return c.whole.life()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.workloads
}

// inBubble adds a new cluster to the bubble of d, unless d is nil.
func (c *cluster) inBubble(d *driver) *cluster {
	if d != nil {
		cfg := c.RESTConfig()
		c.driver, c.token, c.transport = d, cfg.BearerToken, cfg.Transport
		d.mu.Lock()
		defer d.mu.Unlock()
		d.clusters = append(d.clusters, c)
	}
	return c
}

// end closes the cluster. It returns its errors, except those that were answered to a request.
func (c *cluster) end() []error {
	if c.driver != nil && !bubble.Inside() {
		c.driver.stop() // ends its clusters
		return nil
	}
	c.mu.Lock()
	ended, first := c.ended, c.ended == nil
	if first {
		ended = make(chan struct{})
		c.ended = ended
	}
	c.mu.Unlock()
	if !first {
		<-ended // not a sync.Once: a goroutine that waits for a mutex stops the time of a bubble
		return c.errs
	}
	defer close(ended)
	defer c.host.ended(c)
	defer c.die()
	c.errs = c.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs = slices.DeleteFunc(c.errs, func(err error) bool { return c.answered[err.Error()] })
	return c.errs
}

// close closes the cluster and what lives in it. Workloads that start end with the cluster: they might never have started.
func (c *cluster) close() (errs []error) {
	if c.other != nil {
		return c.other.end()
	}
	c.mu.Lock()
	starting := c.starting
	c.mu.Unlock()
	if starting != nil {
		errs = parts(c.Close())
		<-starting
	}
	if life := c.life(); life != nil {
		errs = append(errs, parts(life.Close())...)
	}
	if starting == nil {
		errs = append(errs, parts(c.Close())...)
	}
	return errs
}

// parts returns the errors that errors.Join has joined.
func parts(err error) (found []error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			found = append(found, parts(one)...)
		}
		return found
	}
	if err != nil {
		found = append(found, err)
	}
	return found
}

// endAll ends clusters concurrently.
func endAll(clusters []*cluster) {
	var ended sync.WaitGroup
	for _, c := range clusters {
		ended.Go(func() { c.end() })
	}
	ended.Wait()
}

// Cluster describes a cluster and how to reach it as its administrator.
type Cluster struct {
	Cluster              string           `json:"cluster" doc:"the name of the cluster, for the paths of the control API"`
	URL                  string           `json:"url" doc:"the address of its API server"`
	Token                string           `json:"token" doc:"the bearer token of its administrator"`
	CertificateAuthority string           `json:"certificateAuthority,omitempty" doc:"the PEM of the authority that signed the certificate of an HTTPS url"`
	Kubeconfig           string           `json:"kubeconfig" doc:"a kubeconfig of the administrator, over HTTPS; empty in a bubble"`
	CABundle             string           `json:"caBundle,omitempty" doc:"the PEM for the caBundle of webhook configurations, if the cluster was started with webhookPaths, services or conversions"`
	Services             []ServiceAddress `json:"services,omitempty" doc:"where the Services are that the client answers"`
	WebhookServer        *WebhookServer   `json:"webhookServer,omitempty" doc:"where the webhook server of the client has to listen, if the cluster was started with webhookPaths"`
}

// WebhookServer is where the webhook server of the client has to listen.
type WebhookServer struct {
	Host    string `json:"host" doc:"the address"`
	Port    int    `json:"port" doc:"the port"`
	CertDir string `json:"certDir" doc:"a folder with tls.crt and tls.key"`
}

func (c *cluster) describe() (d Cluster, err error) {
	if c.other != nil {
		d = c.other.cluster
		d.Cluster = c.id
		return d, nil
	}
	d = Cluster{Cluster: c.id, CABundle: string(c.CABundle()), Services: c.addresses()}
	if c.driver != nil {
		d.URL, d.Token = c.driver.url, c.token
	} else {
		kubeconfig, err := c.Kubeconfig()
		if err != nil {
			return d, err
		}
		cfg := c.RESTConfig()
		d.URL, d.Token, d.CertificateAuthority, d.Kubeconfig = c.URL(), cfg.BearerToken, string(cfg.CAData), string(kubeconfig)
	}
	if s := c.WebhookServer(); s.Port != 0 {
		d.WebhookServer = &WebhookServer{s.Host, s.Port, s.CertDir}
	}
	return d, nil
}

func getCluster(c call, _ none) (Cluster, error) { return c.cluster.describe() }

// Clusters lists clusters.
type Clusters struct {
	Clusters []string `json:"clusters" doc:"the names of the clusters of all sessions, in the order in which they started"`
}

func listClusters(c call, _ none) (Clusters, error) {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	number := func(id string) int { n, _ := strconv.Atoi(id[1:]); return n }
	return Clusters{slices.SortedFunc(maps.Keys(c.host.clusters), func(a, b string) int { return number(a) - number(b) })}, nil
}

// Ended is the answer with the errors of a cluster at its end.
type Ended struct {
	Errors []string `json:"errors" doc:"faults that have never fired, misuse of the hold, errors of workloads, and errors of closing the cluster"`
}

func endCluster(c call, _ none) (Ended, error) {
	if !c.host.remove(c.cluster) {
		_, err := c.host.cluster(c.cluster.id)
		return Ended{}, err
	}
	ended := Ended{Errors: []string{}}
	if d := c.cluster.driver; d != nil {
		d.forget(c.cluster)
	}
	for _, err := range c.cluster.end() {
		ended.Errors = append(ended.Errors, err.Error())
	}
	return ended, nil
}

// Fork is the request for a copy of a cluster.
type Fork struct {
	Session string `json:"session" doc:"the session in which the copy lives; POST /v1/sessions opens one"`
}

func forkCluster(c call, f Fork) (Cluster, error) {
	if err := c.host.hasSession(f.Session); err != nil {
		return Cluster{}, err
	}
	if c.cluster.other != nil {
		return c.host.forkElsewhere(c, c.cluster.other, f)
	}
	forked, err := c.cluster.NewFork()
	if err != nil {
		return Cluster{}, err
	}
	n := newCluster(c.host, forked).inBubble(driverOf(c))
	n.services, n.images = c.cluster.services, c.cluster.images
	return c.host.take(f.Session, n)
}

// take adds a new cluster to a session and describes it. After an error the cluster is closed.
func (h *Host) take(session string, c *cluster) (d Cluster, err error) {
	if err = h.add(session, c); err == nil {
		if d, err = c.describe(); err == nil {
			return d, nil
		}
		h.remove(c)
	}
	c.end()
	return d, err
}

func compactCluster(c call, _ none) (none, error) { return none{}, c.cluster.Compact() }

func getSnapshot(c call, _ none) (content, error) {
	var snapshot bytes.Buffer
	err := c.cluster.Snapshot(&snapshot)
	return content{"application/octet-stream", snapshot.Bytes()}, err
}

// User is a user with groups, or a service account. RBAC applies to it.
type User struct {
	User           string   `json:"user,omitempty" doc:"the name of the user"`
	Groups         []string `json:"groups,omitempty" doc:"the groups of the user, besides system:authenticated"`
	Namespace      string   `json:"namespace,omitempty" doc:"the namespace of the service account"`
	ServiceAccount string   `json:"serviceAccount,omitempty" doc:"the name of a service account, in place of a user"`
}

// Credentials are the address and the credentials with which a user reaches a cluster.
type Credentials struct {
	URL                  string `json:"url" doc:"the address of the API server"`
	Token                string `json:"token,omitempty" doc:"a bearer token, which does not expire"`
	CertificateAuthority string `json:"certificateAuthority,omitempty" doc:"the PEM of the authority that signed the certificate of an HTTPS url"`
	ClientCertificate    string `json:"clientCertificate,omitempty" doc:"the PEM of a client certificate, which a cluster with TLS takes in place of a token"`
	ClientKey            string `json:"clientKey,omitempty" doc:"the PEM of its key"`
	Kubeconfig           string `json:"kubeconfig" doc:"a kubeconfig of the user, over HTTPS; empty in a bubble"`
}

// config returns the configuration of a client of a user.
func (c *cluster) config(u User) (*clientrest.Config, error) {
	switch {
	case u.User != "" && u.ServiceAccount != "":
		return nil, refuse(http.StatusBadRequest, "user and serviceAccount exclude each other; give one of them")
	case u.User != "" && u.Namespace != "":
		return nil, refuse(http.StatusBadRequest, "namespace is for a serviceAccount; a user has none")
	case u.User != "":
		return c.ConfigFor(u.User, u.Groups...), nil
	case u.ServiceAccount != "" && len(u.Groups) > 0:
		return nil, refuse(http.StatusBadRequest, "groups are for a user; a service account has its own")
	case u.ServiceAccount != "" && u.Namespace != "":
		return c.ServiceAccountConfig(u.Namespace, u.ServiceAccount), nil
	}
	return nil, refuse(http.StatusBadRequest, "user is missing: give a user, or a namespace and a serviceAccount")
}

func getCredentials(c call, u User) (cr Credentials, err error) {
	cfg, err := c.cluster.config(u)
	if err != nil {
		return cr, err
	}
	cr = Credentials{URL: cfg.Host, Token: cfg.BearerToken, CertificateAuthority: string(cfg.CAData), ClientCertificate: string(cfg.CertData), ClientKey: string(cfg.KeyData)}
	if d := c.cluster.driver; d != nil {
		cr.URL = d.url
		return cr, nil
	}
	text, err := c.cluster.Kubeconfig()
	if err != nil {
		return cr, err
	}
	kubeconfig, err := clientcmd.Load(text)
	if err != nil {
		return cr, err
	}
	for _, user := range kubeconfig.AuthInfos {
		user.Token, user.ClientCertificateData, user.ClientKeyData = cfg.BearerToken, cfg.CertData, cfg.KeyData
	}
	text, err = clientcmd.Write(*kubeconfig)
	cr.Kubeconfig = string(text)
	return cr, err
}
