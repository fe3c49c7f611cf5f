package scenarios

import (
	"fmt"
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

	setup []manifest
	steps []step
}

// ClusterOptions is the "cluster:" part of a scenario. Its zero value is a
// cluster as [fakecluster.New] makes it without options.
type ClusterOptions struct {
	// LegacyAPIs serves versions that were removed from Kubernetes, too.
	LegacyAPIs bool
	// WithoutNamespaceLifecycle lets objects live in namespaces that do not exist.
	WithoutNamespaceLifecycle bool
}

// Cluster is what a scenario needs of a cluster to be played on it.
type Cluster interface {
	RESTConfig() *rest.Config
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
