package rest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// Revision is one state of an object, and who has made it.
type Revision struct {
	// Revision is the resourceVersion of the object in this state.
	Revision int64
	// Event is the type of the event that watches got: Added, Modified or Deleted. It is empty
	// for a state with which the history begins, because it is older.
	Event watch.EventType

	// Time, User, UserAgent, Verb, Patch and Subresource are those of the request that made the
	// revision, as in a Request. Number is its number; 0 if Server.Requests does not have it: the
	// options of the cluster have made it, or the cluster that this one was forked from. All are
	// zero for what the cluster has from its start, from a snapshot or from a data file.
	Time                     time.Time
	User, UserAgent          string
	Verb, Patch, Subresource string
	Number                   int64

	// Object is the object in this state.
	Object *unstructured.Unstructured
	// Changes are what differs from the state before. There are none for a new object.
	Changes []FieldChange
}

// FieldChange is one difference between two states of an object.
type FieldChange struct {
	// Path names the field. Items of a list have the keys that tell them apart, if the list has
	// some, and else their places: spec.containers[name=web].image,
	// metadata.labels["app.kubernetes.io/name"], spec.args[0]. Items of a set are all called
	// metadata.finalizers[].
	Path string
	// Was and Is are the values, as of JSON. Nil: there was none, or is none any more.
	Was, Is any
}

// String shows the change on one line, such as
//
//	spec.replicas: 1 → 3
func (f FieldChange) String() string { return history.Change(f).String() }

// Client names who has made the revision, as [Request.Client] does. It is empty if that is not
// known.
func (r Revision) Client() string { return history.ClientOf(r.User, r.UserAgent) }

// String shows the revision, with its changes on lines of their own:
//
//	revision 14: website-operator apply status
//		status.ready: false → true
func (r Revision) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "revision %d:", r.Revision)
	switch {
	case r.Verb != "":
		verb := r.Verb
		if r.Patch == "apply" {
			verb = r.Patch
		}
		fmt.Fprintf(&b, " %s %s", r.Client(), verb)
		if r.Subresource != "" {
			b.WriteString(" " + r.Subresource)
		}
	case r.Event == "":
		b.WriteString(" it was there")
	default:
		b.WriteString(" " + strings.ToLower(string(r.Event)))
	}
	if r.Event == watch.Deleted {
		b.WriteString(", gone")
	}
	for _, change := range r.Changes {
		b.WriteString("\n\t" + change.String())
	}
	return b.String()
}

// History is the states of an object, the oldest first.
type History []Revision

// String shows all revisions, each on a line, with its changes below it.
func (h History) String() string {
	var b strings.Builder
	for _, r := range h {
		b.WriteString(r.String() + "\n")
	}
	return b.String()
}

// ObjectHistory returns the states of an object that the store remembers, the oldest first, in the
// version of the kind. A namespaced kind needs a namespace.
func (s *Server) ObjectHistory(kind schema.GroupVersionKind, namespace, name string) (History, error) {
	v, key, err := s.named(kind, namespace, name)
	if err != nil {
		return nil, err
	}
	known, err := s.history.Of(s.cluster.Store, key, func(record store.Record) (string, error) { return view.Text(v, record) })
	if err != nil {
		return nil, err
	}
	h := make(History, len(known))
	for i, k := range known {
		h[i] = revisionOf(k)
	}
	return h, nil
}

func revisionOf(k history.Revision) Revision {
	r := Revision{
		Revision: k.Revision, Event: k.Type, Time: k.By.Time, User: k.By.User, UserAgent: k.By.UserAgent,
		Verb: k.By.Verb, Patch: k.By.Patch, Subresource: k.By.Subresource, Number: k.By.Request,
		Object: &unstructured.Unstructured{Object: k.Object},
	}
	for _, change := range k.Changes {
		r.Changes = append(r.Changes, FieldChange(change))
	}
	return r
}

// ObjectAt returns an object as it was at a revision, in the version of the kind; 0: as it is now.
// The errors are NotFound if there was none, Expired if the revision is too old, and that of a
// list if it is in the future.
func (s *Server) ObjectAt(kind schema.GroupVersionKind, namespace, name string, revision int64) (map[string]any, error) {
	v, key, err := s.named(kind, namespace, name)
	if err != nil {
		return nil, err
	}
	record, err := s.cluster.Store.GetAt(key, revision)
	var compacted *store.CompactedError
	var future *store.FutureError
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, apierrors.NewNotFound(v.Resource.GroupResource(), name)
	case errors.As(err, &compacted):
		return nil, watchError(err)
	case errors.As(err, &future):
		return nil, storage.NewTooLargeResourceVersionError(uint64(future.Requested), uint64(future.Current), 1)
	case err != nil:
		return nil, err
	}
	text, err := view.Text(v, record)
	if err != nil {
		return nil, err
	}
	var obj map[string]any
	return obj, utiljson.Unmarshal([]byte(text), &obj)
}

// named finds the version of a kind, and the key of an object of it.
func (s *Server) named(kind schema.GroupVersionKind, namespace, name string) (*resource.Version, string, error) {
	res := s.cluster.Catalogue().Kind(kind)
	if res == nil || res.Version(kind.Version) == nil {
		return nil, "", &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	if !res.Namespaced {
		namespace = ""
	}
	return res.Version(kind.Version), res.Key(namespace, name), nil
}
