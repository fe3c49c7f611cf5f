package rest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	upstream "k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fakecluster/fakecluster/internal/faultinjection"
)

// injectFaults applies the faults in force to requests for resources.
func (h *handler) injectFaults(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !h.cluster.Faults.Active() || !infoOf(req).IsResourceRequest {
			next.ServeHTTP(w, req)
			return
		}
		struck := h.cluster.Faults.Strike(asFaultsSee(w, req))
		defer struck.Done()
		struck.Report = contextOf(req).observe.Fault
		if struck.Latency > 0 {
			struck.Report(fmt.Sprintf("latency of %v", struck.Latency))
		}
		contextOf(req).struck = struck
		req = req.WithContext(faultinjection.With(req.Context(), struck))
		if err := h.wait(req.Context(), struck.Latency); err != nil {
			writeError(w, req, orTimeout(req.Context(), err))
			return
		}
		if err := struck.Answer(); err != nil {
			if errors.Is(err, faultinjection.ErrTimeout) {
				if _, err, _ = limitOf(req); err == nil {
					err = errAllotted // a watch whose timeout cannot be read; nobody has tried
				}
			}
			writeError(w, req, err)
			return
		}
		if struck.IsCutBefore() {
			panic(http.ErrAbortHandler)
		}
		if !struck.MayBeCutAfter() {
			next.ServeHTTP(w, req)
			return
		}
		answer := &keptAnswer{header: w.Header()}
		next.ServeHTTP(answer, req)
		if answer.code < http.StatusBadRequest {
			struck.CutAfter()
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(answer.code)
		_, _ = w.Write(answer.body.Bytes()) // the client may have gone
	})
}

// wait waits until the time is over or the context ends. It ends with the server, too: over
// HTTP/1, the context of a request whose body has not been read does not end with its
// connection.
func (h *handler) wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-h.cluster.Closing.Done():
		panic(http.ErrAbortHandler)
	}
}

// keptAnswer is a response that is held back until it is known whether the client gets it.
type keptAnswer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (a *keptAnswer) Header() http.Header { return a.header }

func (a *keptAnswer) WriteHeader(code int) {
	if a.code == 0 {
		a.code = code
	}
}

func (a *keptAnswer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// asFaultsSee returns the properties of a request by which faults select it.
func asFaultsSee(w http.ResponseWriter, req *http.Request) faultinjection.Request {
	info := infoOf(req)
	r := faultinjection.Request{
		Verb: info.Verb, Group: info.APIGroup, Resource: info.Resource, Subresource: info.Subresource,
		Namespace: info.Namespace, Name: info.Name, UserAgent: req.UserAgent(), AuditID: req.Header.Get("Audit-ID"),
		DryRun: strings.Contains(req.URL.RawQuery, "dryRun=") && req.URL.Query().Get("dryRun") == metav1.DryRunAll,
	}
	if by, ok := apirequest.UserFrom(req.Context()); ok {
		r.User = by.GetName()
	}
	switch {
	case info.Verb == "create" && info.Name == "":
		r.NameInBody = func() string { return nameInBody(w, req) }
	case info.Verb == "delete", info.Verb == "deletecollection":
		r.DryRunInBody = func() bool { return dryRunOfDelete(w, req, r.DryRun) }
	case info.Verb == "create" && info.Subresource == "eviction":
		r.DryRunInBody = func() bool { return r.DryRun || dryRunOfEviction(w, req) }
	}
	return r
}

// peek reads the body of a request, and leaves it to be read again.
func peek(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBodyBytes))
	req.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
	return body, err
}

// dryRunOfDelete reports whether a delete is a dry run. Options in the body count instead of those in
// the query.
func dryRunOfDelete(w http.ResponseWriter, req *http.Request, inQuery bool) bool {
	body, err := peek(w, req)
	if err != nil {
		return false // it is refused
	}
	if len(body) == 0 {
		return inQuery
	}
	options := &metav1.DeleteOptions{}
	_, err = decodeDeleteOptions(req, body, options)
	return err == nil && dryrun.IsDryRun(options.DryRun)
}

// dryRunOfEviction reports whether the delete options of an eviction make it a dry run.
func dryRunOfEviction(w http.ResponseWriter, req *http.Request) bool {
	body, err := peek(w, req)
	if err != nil {
		return false
	}
	kind := policyv1.SchemeGroupVersion.WithKind("Eviction")
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, &kind, nil)
	if err != nil {
		return false
	}
	var options *metav1.DeleteOptions
	switch eviction := obj.(type) {
	case *policyv1.Eviction:
		options = eviction.DeleteOptions
	case *policyv1beta1.Eviction:
		options = eviction.DeleteOptions
	}
	return options != nil && dryrun.IsDryRun(options.DryRun)
}

// nameInBody returns the name of the object in the body of a request, and leaves the body to be read
// again; empty: the body has none, or cannot be read.
func nameInBody(w http.ResponseWriter, req *http.Request) string {
	body, err := peek(w, req)
	switch {
	case err != nil:
		return ""
	case strings.Contains(req.Header.Get("Content-Type"), "protobuf"):
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return ""
		}
		metadata, err := meta.Accessor(obj)
		if err != nil {
			return ""
		}
		return metadata.GetName()
	case !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")):
		if body, err = yaml.ToJSON(body); err != nil {
			return ""
		}
	}
	return gjson.GetBytes(body, "metadata.name").String()
}

// failing is a reader that is at its end, or fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// asOf returns the revision at which a read with a resourceVersion is answered; 0: the newest. That revision
// is not older than the resourceVersion. If it is the newest one, the fault does not count as fired.
func (r *request) asOf(resourceVersion string) int64 {
	lag := r.struck.Lag()
	if lag == 0 {
		return 0
	}
	current := r.cluster.Store.Revision()
	wanted, err := strconv.ParseUint(cmp.Or(resourceVersion, "0"), 10, 63)
	if err != nil {
		return 0 // it is refused
	}
	revision := max(current-lag, r.cluster.Store.Oldest(), r.version.Resource.Since, int64(wanted))
	if revision >= current {
		return 0
	}
	r.struck.ReadStale()
	return revision
}

// listAsOf changes the options of a list so that it reads a past revision, if a fault makes it stale. A list
// of an exact revision is never stale.
func (r *request) listAsOf(o *internalversion.ListOptions) {
	if o.Continue != "" || o.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		return
	}
	revision := r.asOf(o.ResourceVersion)
	if revision == 0 {
		return
	}
	if o.ResourceVersion == "0" {
		o.Limit = 0 // as in a cache
	}
	o.ResourceVersion, o.ResourceVersionMatch = strconv.FormatInt(revision, 10), metav1.ResourceVersionMatchExact
}

// refusal returns the function that rejects a write as an admission plugin would, or nil if no fault does so.
func (r *request) refusal() func(upstream.Attributes) error {
	message, refused := r.struck.Refusal()
	if message == "" {
		return nil
	}
	return func(a upstream.Attributes) error {
		refused()
		return upstream.NewForbidden(a, errors.New(message))
	}
}
