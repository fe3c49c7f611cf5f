package controller

import (
	"context"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// Server provides controllers with reads of the server.
type Server struct {
	// Cluster reads objects, and has the clock.
	Cluster admission.Cluster
	// Records reads the store.
	Records Records
	// Activity counts what controllers do besides the writes of clients, for example after an alarm; nil: it is not
	// counted.
	Activity *write.Activity
	// Memory has decoded objects of the store.
	Memory *resource.Memory
	// Registry returns the registry, up to date with the definitions in the store.
	Registry func() (*resource.Registry, error)
	// Report reports the error of a controller for a key. No client gets the error, and the next related write tries
	// again.
	Report func(controller, key string, err error)

	// The following is not in the store.

	// AuthenticationInfo is the data that the server adds to the ConfigMap extension-apiserver-authentication; nil: it
	// adds nothing. The data comes from files of the process.
	AuthenticationInfo func() map[string]string
	// Initial are the options of the initial objects.
	Initial builtin.Options
	// Quotas measures quotas (package quota).
	Quotas measurer
	// Available connects to the server of an APIService, and returns the condition Available. APIServicesOf returns the
	// names of the APIServices that point to a service. LivesInPods reports whether the server of an APIService runs in
	// pods, and InPods returns the names of all such APIServices.
	Available     func(ctx context.Context, a *apiregistrationv1.APIService) apiregistrationv1.APIServiceCondition
	APIServicesOf func(namespace, service string) []string
	LivesInPods   func(a *apiregistrationv1.APIService) bool
	InPods        func() []string
}

// Writer carries out the writes of controllers. The writes of a server call its controllers, so the writer is an argument
// of each function that makes controllers act.
type Writer interface {
	// WriteAs carries out a write of a controller.
	WriteAs(ctx context.Context, by Identity, verb string, w write.Request) (write.Result, error)
}

// Records reads the store. It is implemented by *store.Store.
type Records interface {
	Get(key string) (store.Record, error)
	List(prefix string, o store.ListOptions) (store.List, error)
	Watch(prefix string, after int64) (*store.Cursor, error)
	Revision() int64
	Oldest() int64
}
