package scenarios

import (
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// A Scenario is one document of a scenario file, checked and ready to be played. It is
// immutable: it can be played any number of times, also several times concurrently.
type Scenario struct {
	// Name is the sentence after "scenario:".
	Name string
	// Position is the line where the document begins.
	Position
	// Cluster has the options of the cluster that the scenario needs.
	Cluster ClusterOptions

	webhooks []stubWebhook
	setup    []manifest
	steps    []step
}

// ClusterOptions is the "cluster:" part of a scenario. The zero value is a cluster as
// [fakecluster.New] makes it without options.
type ClusterOptions struct {
	// LegacyAPIs also serves versions that Kubernetes has removed.
	LegacyAPIs bool
	// Controllers are those of kube-controller-manager that act, by name; nil: those that do by
	// default.
	Controllers []string
	// WithAdmissionPlugins are plugins of kube-apiserver that are turned on, and
	// WithoutAdmissionPlugins those that are turned off, by name.
	WithAdmissionPlugins, WithoutAdmissionPlugins []string
	// RuntimeConfig are versions that are off by default and are to be served, or the other way
	// round.
	RuntimeConfig []string
	// WithoutNamespaceLifecycle allows objects in namespaces that do not exist.
	WithoutNamespaceLifecycle bool
	// Services are the services that webhooks refer to. Play makes them from the
	// "webhooks:" part of the scenario; what the caller sets is replaced.
	Services []Service
}

// Service is a handler that the cluster calls over TLS when a webhook refers to the service.
type Service struct {
	Namespace, Name string
	Port            int
	Handler         http.Handler
}

// Cluster is what Play needs of a cluster.
type Cluster interface {
	// RESTConfig is for the administrator, ConfigFor for a user who is a member of the groups,
	// and ServiceAccountConfig for a service account.
	RESTConfig() *rest.Config
	ConfigFor(user string, groups ...string) *rest.Config
	ServiceAccountConfig(namespace, name string) *rest.Config
	// CABundle returns the PEM of the authority that signed the certificates of the
	// services, and ServiceURL returns the address of one of them.
	CABundle() []byte
	ServiceURL(namespace, name string, port int) string
	Close() error
}

// A Starter makes a cluster for playing one scenario once. Play closes it when the scenario
// ends.
type Starter func(ClusterOptions) (Cluster, error)

// Result is the result of playing a scenario.
type Result struct {
	Scenario *Scenario
	// Elapsed is the time for everything: starting the cluster, setup, steps and closing.
	Elapsed time.Duration
	// Failure is nil if the scenario passed.
	Failure *Failure
}

// Position is a line of a file. Every message begins with one.
type Position struct {
	// File is the path of the file, as it was given or found.
	File string
	Line int
}

// String returns FILE:LINE.
func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// manifest is an object as the author of the scenario wrote it. It may contain marks.
type manifest struct {
	pos    Position
	object map[string]any
}

// step is one request and the expectations of its answer.
type step struct {
	pos  Position
	name string
	verb *verb
	// as is the name under which later steps refer to the answer.
	as string
	request
	expectation
}
