package rest

import (
	"context"
	"fmt"
	"time"

	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/store"
)

// New makes a server over a store. It creates the initial objects of a cluster in the
// store, unless they are there already, and completes what another server had begun over
// the same objects, such as the deletion of a namespace. Close ends the server; the store
// stays the caller's.
func New(s *store.Store, o Options) (*Server, error) {
	if o.Token == "" {
		return nil, fmt.Errorf("a server needs a token")
	}
	srv := newServer(s, o, history.New(o.Now, s.Oldest))
	cluster, err := server.New(s, srv.options.ofCluster(), srv.host())
	if err != nil {
		return nil, err
	}
	srv.serve(cluster)
	if err := cluster.Start(); err != nil {
		return nil, err
	}
	srv.compact.start()
	return srv, nil
}

// newServer makes a server over a store, without the cluster that it serves.
func newServer(s *store.Store, o Options, requests *history.Recorder) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	srv := &Server{
		options: o, history: requests, unsupported: newUnsupportedLog(), access: &authorization.Access{},
		audit:  newAuditSink(o.AuditLevel, o.AuditLog, o.Now),
		faults: &faultinjection.Engine{Store: s, Seed: o.Seed},
	}
	srv.compact.interval, srv.compact.store, srv.compact.fail = o.CompactionInterval, s, srv.unsupported.logFailure
	srv.closing, srv.close = context.WithCancel(context.Background())
	srv.computations = &computations{closing: srv.closing, collects: o.collectsGarbage()}
	srv.faults.Validate = srv.validateFault
	return srv
}

// host is what the cluster has of the server.
func (s *Server) host() server.Host {
	return server.Host{
		Services: s.options.Services, Closing: s.closing, Faults: s.faults,
		Log: agentLog{s.audit, s.history, s.options.Now}, MayCreate: s.mayCreate, Failed: s.unsupported.logFailure,
	}
}

// serve makes the handler that serves a cluster.
func (s *Server) serve(cluster *server.Cluster) {
	s.cluster = cluster
	counts := &requestCounts{flow: s.flowMetrics()}
	s.handler = behind(s.filters(counts), paths{
		resources:    resources{&buffers{}, cluster.Store, cluster.Writes, cluster.Registry, s.verbs(), s.subresourceVerbs(), s.unsupported, counts, s.computations, &s.compact.expired},
		registry:     cluster.Registry,
		openAPI:      &openAPI{},
		computations: s.computations,
		aggregate:    cluster.Aggregate,
		tokens:       cluster.Tokens,
		unsupported:  s.unsupported,
		counts:       counts,
		flags:        s.options.Flags,
		profiling:    !s.options.WithoutProfiling,
	})
}
