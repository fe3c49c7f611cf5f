package aggregation

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/proxy"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	apiserverproxy "k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	"k8s.io/streaming/pkg/httpstream"
)

// unavailable is the response for a server that cannot be reached.
const unavailable = "service unavailable"

// Proxy forwards requests to the servers of a registry, and merges their documents. Create it with NewProxy.
type Proxy struct {
	*Registry
	recheck  func(ctx context.Context, name string)
	document atomic.Pointer[mergedDocument] // the latest OpenAPI v2

	mu       sync.Mutex
	checking map[string]bool // names of those that a request is checking
}

// NewProxy returns a proxy. For a request to a server that did not answer when it was checked last, it first calls
// recheck, which must update the condition of the APIService with the name.
func NewProxy(r *Registry, recheck func(ctx context.Context, name string)) *Proxy {
	return &Proxy{Registry: r, recheck: recheck, checking: map[string]bool{}}
}

// Forward forwards a request to a server.
func (p *Proxy) Forward(w http.ResponseWriter, req *http.Request, to *Server) {
	s := p.rechecked(req.Context(), to.answering())
	if !s.isAvailable() {
		http.Error(w, unavailable, http.StatusServiceUnavailable)
		return
	}
	by, ok := apirequest.UserFrom(req.Context())
	if !ok {
		http.Error(w, "missing user", http.StatusInternalServerError)
		return
	}
	t, err := s.transport()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	host, err := s.registry.hostOf(s.APIService.Spec.Service)
	if err != nil {
		http.Error(w, unavailable, http.StatusServiceUnavailable)
		return
	}
	location := &url.URL{Scheme: "https", Host: host, Path: req.URL.Path, RawQuery: req.URL.Query().Encode()}
	forwarded, cancel := apiserverproxy.NewRequestForProxy(location, req)
	defer cancel()
	forwarded.Header.Del("Authorization") // not for the other server
	upgrade := httpstream.IsUpgradeRequest(req)
	if upgrade {
		// An upgrade dials without the round tripper, so set the headers first.
		transport.SetAuthProxyHeaders(forwarded, by.GetName(), by.GetUID(), by.GetGroups(), by.GetExtra())
		if h := Hijackable(w); h != nil {
			w = h
		}
	}
	rt := transport.NewAuthProxyRoundTripper(by.GetName(), by.GetUID(), by.GetGroups(), by.GetExtra(), t)
	handler := proxy.NewUpgradeAwareHandler(location, rt, true, upgrade, responder{w})
	handler.RejectForwardingRedirects = true
	// The library only logs that a client or the server has closed its connection.
	handler.ServeHTTP(w, forwarded.WithContext(klog.NewContext(forwarded.Context(), logr.Discard())))
}

// isAvailable reports whether the server answered at its last check.
func (s *Server) isAvailable() bool {
	return helper.IsAPIServiceConditionTrue(s.APIService, apiregistrationv1.Available)
}

// rechecked checks a server that was not available at its last check again, and returns its current state. Only one
// request checks at a time: others may come from the server itself.
func (p *Proxy) rechecked(ctx context.Context, s *Server) *Server {
	if s.isAvailable() {
		return s
	}
	name := s.APIService.Name
	p.mu.Lock()
	busy := p.checking[name]
	p.checking[name] = true
	p.mu.Unlock()
	if busy {
		return s
	}
	defer func() {
		p.mu.Lock()
		delete(p.checking, name)
		p.mu.Unlock()
	}()
	p.recheck(ctx, name)
	if server := p.current.Load().servers[name]; server != nil {
		return server
	}
	return s
}

// responder answers requests for a server that cannot be reached.
type responder struct{ w http.ResponseWriter }

// Error implements proxy.ErrorResponder.
func (r responder) Error(_ http.ResponseWriter, _ *http.Request, err error) {
	http.Error(r.w, err.Error(), http.StatusServiceUnavailable)
}

// Hijackable returns the first http.Hijacker among a writer and those that it wraps, or nil.
func Hijackable(w http.ResponseWriter) http.ResponseWriter {
	for {
		if _, ok := w.(http.Hijacker); ok {
			return w
		}
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil
		}
		w = outer.Unwrap()
	}
}
