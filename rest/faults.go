package rest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	upstream "k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// Faulty reports whether a fault is in force.
func (s *Server) Faulty() bool { return s.faults.Active() }

// Inject puts a fault in force, until its Stop or the end of the server. It fails for a fault that
// contradicts itself, or that names a resource, subresource or verb that the server does not serve. A
// fork has none of the faults of its origin.
func (s *Server) Inject(f faults.Fault) (faults.Injection, error) {
	i, err := s.faults.Inject(f)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// UnfiredFaults returns an error for each fault that has struck nothing and is not Optional.
func (s *Server) UnfiredFaults() (errs []error) {
	for _, i := range s.faults.Injections() {
		if why := i.Unfired(); why != "" {
			errs = append(errs, errors.New(why))
		}
	}
	return errs
}

// Hold begins to keep watch events back, also those of watches that begin later. It fails if there is
// another Hold. The Hold calls fail with the errors of its methods, such as that a resource is not
// served. A fork has no Hold.
func (s *Server) Hold(fail func(error)) (faults.Hold, error) {
	h, err := s.faults.Hold(fail)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Compact forgets the history up to now, as etcd does: watches and lists at older revisions get 410.
// Watches that run go on. It fails if the store is closed.
func (s *Server) Compact() error { return s.faults.Compact() }

// injectFaults makes requests for resources go wrong as the faults in force say.
func (s *Server) injectFaults(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !s.faults.Active() || !infoOf(req).IsResourceRequest {
			next.ServeHTTP(w, req)
			return
		}
		struck := s.faults.Strike(asFaultsSee(w, req))
		defer struck.Done()
		struck.Report = contextOf(req).observe.Fault
		if struck.Latency > 0 {
			struck.Report(fmt.Sprintf("latency of %v", struck.Latency))
		}
		contextOf(req).struck = struck
		req = req.WithContext(faultinjection.With(req.Context(), struck))
		if err := s.wait(req.Context(), struck.Latency); err != nil {
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
func (s *Server) wait(ctx context.Context, d time.Duration) error {
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
	case <-s.closing.Done():
		panic(http.ErrAbortHandler)
	}
}

// keptAnswer is a response that is held back until it is decided whether the client gets it.
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

// asFaultsSee returns what faults match a request by.
func asFaultsSee(w http.ResponseWriter, req *http.Request) faultinjection.Request {
	info := infoOf(req)
	r := faultinjection.Request{
		Verb: info.Verb, Group: info.APIGroup, Resource: info.Resource, Subresource: info.Subresource,
		Namespace: info.Namespace, Name: info.Name, UserAgent: req.UserAgent(),
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

// asOf returns the revision as of which a read with a resourceVersion is answered; 0: the
// newest. A read with a minimum revision gets no older one. A read that would be
// answered from the present anyway has not been struck.
func (r *request) asOf(resourceVersion string) int64 {
	lag := r.struck.Lag()
	if lag == 0 {
		return 0
	}
	current := r.store.Revision()
	wanted, err := strconv.ParseUint(cmp.Or(resourceVersion, "0"), 10, 63)
	if err != nil {
		return 0 // it is refused
	}
	revision := max(current-lag, r.store.Oldest(), r.version.Resource.Since, int64(wanted))
	if revision >= current {
		return 0
	}
	r.struck.ReadStale()
	return revision
}

// listAsOf makes the options of a list those of a list of the past, if the read is stale. A list
// of exactly one state is never stale.
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

// refusal returns what refuses a write in the place of an admission plugin; nil: nothing does.
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

// validateFault returns an error if no version of a resource that is served has the subresource or the verb.
// Any of them may be empty, or the subresource any.
func (s *Server) validateFault(resource schema.GroupResource, subresource, verb string) error {
	c := s.cluster.Registry()
	if resource.Resource == "" {
		for _, group := range c.Groups() {
			for _, res := range group.Resources {
				if verbs, ok := subresourceVerbsOf(res, subresource); ok && (verb == "" || slices.Contains(verbs, verb)) {
					return nil
				}
			}
		}
		return fmt.Errorf("no resource has the subresource %q%s", subresource, withVerb(verb))
	}
	res := c.Resource(resource.Group, resource.Resource)
	if res == nil {
		return fmt.Errorf("there is no resource %q%s", resource, s.othersCalled(c, resource))
	}
	verbs := res.Verbs
	if subresource != "" {
		its, ok := subresourceVerbsOf(res, subresource)
		if !ok && subresource != faults.AnySubresource {
			return fmt.Errorf("%s has no subresource %q", resource, subresource)
		}
		if subresource == faults.AnySubresource {
			its = append(slices.Clone(verbs), its...)
		}
		verbs = its
	}
	if verb != "" && !slices.Contains(verbs, verb) {
		what := resource.String()
		if subresource != "" && subresource != faults.AnySubresource {
			what += "/" + subresource
		}
		return fmt.Errorf("%s has no verb %q; it has %s", what, verb, strings.Join(verbs, ", "))
	}
	return nil
}

func withVerb(verb string) string {
	if verb == "" {
		return ""
	}
	return fmt.Sprintf(" with the verb %q", verb)
}

// subresourceVerbsOf returns the verbs of a subresource, or of all, in the versions that are served;
// ok is false if there is no such subresource.
func subresourceVerbsOf(res *resource.Resource, subresource string) (verbs []string, ok bool) {
	for _, v := range res.Versions {
		for name, s := range v.Subresource {
			if v.Served && (name == subresource || subresource == faults.AnySubresource) {
				verbs, ok = append(verbs, s.Verbs...), true
			}
		}
	}
	slices.Sort(verbs)
	return slices.Compact(verbs), ok
}

// othersCalled names the resources that a name may mean: those of other groups, and those with this singular, kind or short name.
func (s *Server) othersCalled(c *resource.Registry, resource schema.GroupResource) string {
	var found []string
	for _, group := range c.Groups() {
		for _, res := range group.Resources {
			n := res.Names
			called := append([]string{n.Plural, n.Singular, strings.ToLower(n.Kind)}, n.ShortNames...)
			if slices.Contains(called, strings.ToLower(resource.Resource)) && (resource.Group == "" || resource.Group == group.Name || n.Plural == resource.Resource) {
				found = append(found, strconv.Quote(res.GroupResource().String()))
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "; write " + strings.Join(slices.Compact(found), " or ")
}
