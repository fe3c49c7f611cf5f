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

// Server is what controllers need of the server: reads, and Run.
type Server struct {
	// Cluster reads objects, and has the clock.
	Cluster admission.Cluster
	// Records reads the store.
	Records Records
	// Memory has the objects of the store decoded.
	Memory *resource.Memory
	// Registry returns the registry of the definitions that are in the store now.
	Registry func() (*resource.Registry, error)
	// Run carries out a write.
	Run func(ctx context.Context, by Identity, verb string, w write.Request) (write.Result, error)
	// Report reports that a controller has failed for a key. No client gets the error, and the next related
	// write tries again.
	Report func(controller, key string, err error)

	// What follows is not in the store.

	// AuthenticationInfo is the data that the server adds to the ConfigMap
	// extension-apiserver-authentication; nil: it adds nothing. It comes from files of the process.
	AuthenticationInfo func() map[string]string
	// Initial are the options that say which objects the cluster has from its start.
	Initial builtin.Options
	// Quotas measures quotas, and has which of them are exact (package quota).
	Quotas measurer
	// Available connects to the server of an APIService, and returns the condition Available. APIServicesOf returns the
	// names of the APIServices that point to a service. LivesInPods reports whether pods answer for that of an APIService.
	Available     func(ctx context.Context, a *apiregistrationv1.APIService) apiregistrationv1.APIServiceCondition
	APIServicesOf func(namespace, service string) []string
	LivesInPods   func(a *apiregistrationv1.APIService) bool
}

// Records reads the store. It is implemented by *store.Store.
type Records interface {
	Get(key string) (store.Record, error)
	List(prefix string, o store.ListOptions) (store.List, error)
	Watch(prefix string, after int64) (*store.Cursor, error)
	Revision() int64
}
