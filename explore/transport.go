package explore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/callers"
	"github.com/fakecluster/fakecluster/internal/place"
)

// errDead is the error of requests of a controller that has been stopped.
var errDead = errors.New("explore: the controller has been stopped")

// wrap returns the transport of the clients of a controller.
func (l *instance) wrap(to http.RoundTripper) http.RoundTripper { return &transport{l, to} }

type transport struct {
	instance *instance
	to       http.RoundTripper
}

// RoundTrip applies the fault of the schedule to a request, if there is one.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	// An instance that has crashed while it starts may still read, so that its caches sync and it can end.
	if t.instance.dead.Load() && !(req.Method == http.MethodGet && t.instance.starting()) {
		return abort(req, t.instance.death())
	}
	ctx, cancel := context.WithCancel(req.Context())
	context.AfterFunc(t.instance.ctx, cancel) // the end of a process closes its connections
	req = req.Clone(ctx)
	info, err := infoOf(req)
	if err != nil || !info.IsResourceRequest {
		return t.to.RoundTrip(req)
	}
	run := t.instance.controller.run
	if run.pace != nil {
		if err := run.pace.wait(ctx); err != nil {
			return abort(req, err)
		}
	}
	sent := sentRequest{dryRun: strings.Contains(req.URL.RawQuery, "dryRun=")}
	if run.stacks && info.Verb != "watch" && info.Verb != "list" && info.Verb != "get" {
		var elsewhere bool
		if sent.code, elsewhere = place.Caller(ctx); !elsewhere {
			sent.callers = callers.Current()
		}
		if written := writtenBy(req); info.Subresource == "" && written["status"] != nil {
			sent.written = written
		}
	}
	seen, strike, _ := run.observe(t.requestOf(info), sent)
	req.Header.Set("Audit-ID", seen.auditID)
	return run.user.around(ctx, seen.occurrence, func() (*http.Response, error) { return t.send(req, info, seen, strike) })
}

// send sends a request, with the fault that strikes it.
func (t *transport) send(req *http.Request, info *apirequest.RequestInfo, seen *sentRequest, strike point) (*http.Response, error) {
	run := t.instance.controller.run
	fault := faults.Fault{AuditID: seen.auditID, Subresource: faults.AnySubresource, Times: 1, Optional: true}
	switch strike.effect {
	case crashBefore:
		t.instance.crash()
		return abort(req, t.instance.death())
	case deposed:
		if err := run.arriveLate(t.to, req); err != nil {
			return abort(req, err)
		}
		t.instance.crash()
		return abort(req, t.instance.death())
	case crashAfter:
		resp, err := t.to.RoundTrip(req)
		if err != nil || resp.StatusCode >= http.StatusBadRequest {
			return resp, err
		}
		_ = resp.Body.Close()
		t.instance.crash()
		return nil, t.instance.death()
	case cutBefore:
		fault.Effect = faults.CutBeforeCommit()
	case cutAfter:
		fault.Effect = faults.CutAfterCommit()
	case late:
		fault.Subresource, fault.Effect = "", faults.DelayWatch(lateBy)
	case drop:
		fault.Subresource, fault.Effect = "", faults.DropWatch(strike.amount)
	case stale:
		fault.Effect = faults.StaleRead(strike.amount)
	default:
		resp, err := t.to.RoundTrip(req)
		if err == nil && run.probes && (info.Verb == "get" || info.Verb == "list") && mayBeStale(req, run.anyRead) {
			err = t.probe(seen, req, resp)
		}
		if err == nil && len(resp.Header["Warning"]) > 0 {
			run.mu.Lock()
			seen.written = writtenBy(req)
			run.mu.Unlock()
		}
		return resp, err
	}
	run.cluster.Inject(fault)
	return t.to.RoundTrip(req)
}

// abort ends a request that is not sent.
func abort(req *http.Request, err error) (*http.Response, error) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, err
}

var paths = &apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

func infoOf(req *http.Request) (*apirequest.RequestInfo, error) { return paths.NewRequestInfo(req) }

// requestOf identifies a request by its info.
func (t *transport) requestOf(info *apirequest.RequestInfo) request {
	resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}.String()
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	object := info.Name
	if info.Namespace != "" {
		object = info.Namespace + "/" + info.Name
	}
	if object == "" {
		object = "-"
	}
	return request{t.instance.controller.name, info.Verb, resource, object}
}

// mayBeStale reports whether a read may be answered from the past.
func mayBeStale(req *http.Request, anyRead bool) bool {
	switch req.URL.Query().Get("resourceVersion") {
	case "0":
		return true
	case "":
		return anyRead && req.URL.Query().Get("continue") == ""
	}
	return false
}

// probe finds the number of revisions after which an answer from the past differs.
func (t *transport) probe(seen *sentRequest, req *http.Request, resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return err
	}
	for lag := 1; lag <= 32 && seen.lag == 0; lag *= 2 {
		again := req.Clone(req.Context())
		id := seen.auditID + "-probe"
		again.Header.Set("Audit-ID", id)
		fault := t.instance.controller.run.cluster.Inject(faults.Fault{
			AuditID: id, Subresource: faults.AnySubresource, Times: 1, Optional: true, Effect: faults.StaleRead(lag),
		})
		past, err := t.to.RoundTrip(again)
		fault.Stop()
		if err != nil {
			return nil // the run ends
		}
		former, err := io.ReadAll(past.Body)
		_ = past.Body.Close()
		if err == nil && (past.StatusCode != resp.StatusCode || content(former) != content(body)) {
			seen.lag = lag
		}
	}
	return nil
}

// content is an answer without the resourceVersion of a list, which differs from revision to revision.
func content(body []byte) string {
	if items := gjson.GetBytes(body, "items"); items.Exists() {
		return items.Raw
	}
	return string(body)
}
