package scenarios

import (
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// A Scenario is one document of a scenario file, checked and ready to play. It
// never changes, so it can be played any number of times, also at once.
type Scenario struct {
	// Name is the sentence after "scenario:".
	Name string
	// Position is where the document begins.
	Position
	// Cluster says what kind of cluster the scenario wants.
	Cluster ClusterOptions

	webhooks []stubWebhook
	setup    []manifest
	steps    []step
}

// ClusterOptions is the "cluster:" part of a scenario. Its zero value is a
// cluster as [fakecluster.New] makes it without options.
type ClusterOptions struct {
	// LegacyAPIs serves versions that were removed from Kubernetes, too.
	LegacyAPIs bool
	// GarbageCollection deletes dependents with their owners.
	GarbageCollection bool
	// WithoutNamespaceLifecycle lets objects live in namespaces that do not exist.
	WithoutNamespaceLifecycle bool
	// Services are what the references of webhooks reach. They are made for each
	// playing, from the "webhooks:" part of a scenario.
	Services []Service
}

// Service is a handler that the cluster reaches, over TLS, by the reference of a
// Service.
type Service struct {
	Namespace, Name string
	Port            int
	Handler         http.Handler
}

// Cluster is what a scenario needs of a cluster to be played on it.
type Cluster interface {
	RESTConfig() *rest.Config
	// CABundle is what the certificates of the services are verified by, as PEM, and
	// ServiceURL where one of them listens.
	CABundle() []byte
	ServiceURL(namespace, name string, port int) string
	Close() error
}

// A Starter makes the cluster for one playing of one scenario. Nobody else uses
// that cluster, and it is closed when the scenario ends.
type Starter func(ClusterOptions) (Cluster, error)

// Result is how one playing of a scenario went.
type Result struct {
	Scenario *Scenario
	// Elapsed is the whole of it: start of the cluster, setup, steps and close.
	Elapsed time.Duration
	// Failure is nil if the scenario passed.
	Failure *Failure
}

// Position is a line of a file: where to look, in every message.
type Position struct {
	// File is the file's path as it was found.
	File string
	Line int
}

// String is FILE:LINE.
func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// manifest is an object as the scenario's author wrote it; marks may stand in it.
type manifest struct {
	pos    Position
	object map[string]any
}

// step is one request and what is expected of its answer.
type step struct {
	pos  Position
	name string
	verb *verb
	// as is the name under which later steps refer to the answer.
	as string
	request
	expectation
}
