package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/lifecycle"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// step is one run of a controller for one key. It must not alter the objects that it reads.
type step struct {
	of  *controller
	ctx context.Context
	// read has the keys that the step has read, with their revisions. The writes of the
	// step require that these have not changed.
	read []store.Precondition
	// again is the time at which the controller has to look at the key once more; zero: only
	// when something has changed.
	again time.Time
}

// The owners of the fields that controllers set, unless they apply.
const (
	manager = "kube-controller-manager"
	server  = "kube-apiserver"
)

func (s *step) now() time.Time { return s.of.server.Cluster().Now() }

// by makes the controller look at the key again at a time, unless an earlier one is set.
func (s *step) by(t time.Time) {
	if s.again.IsZero() || t.Before(s.again) {
		s.again = t
	}
}

func (s *step) version(k kind) (*resource.Version, error) {
	if v := k.in(s.of.server.Cluster().Catalogue()); v != nil {
		return v, nil
	}
	return nil, errNotServed
}

// get reads an object. If there is none, the error is NotFound.
func (s *step) get(k kind, namespace, name string) (runtime.Object, error) {
	v, err := s.version(k)
	if err != nil {
		return nil, err
	}
	obj, err := s.of.server.Cluster().Get(v, namespace, name)
	found := store.Precondition{Key: v.Resource.Key(namespace, name)}
	if err == nil {
		found.Revision, err = revisionOf(obj)
	}
	if err == nil || apierrors.IsNotFound(err) {
		s.read = append(s.read, found)
	}
	return obj, err
}

// list reads the objects of a namespace, or of all for the empty name, that the selector
// matches; nil: all of them. They are in the order of their keys.
func (s *step) list(k kind, namespace string, selector labels.Selector) ([]runtime.Object, error) {
	v, err := s.version(k)
	if err != nil {
		return nil, err
	}
	s.read = append(s.read, store.Precondition{Key: v.Resource.PrefixOf(namespace), Revision: s.of.server.Revision(), Prefix: true})
	return s.of.server.Cluster().List(v, namespace, selector)
}

// find is get for a type. It returns the zero value if there is no such object.
func find[T runtime.Object](s *step, k kind, namespace, name string) (found T, err error) {
	obj, err := s.get(k, namespace, name)
	if apierrors.IsNotFound(err) {
		return found, nil
	}
	if err != nil {
		return found, err
	}
	return as[T](obj)
}

// all is list for a type.
func all[T runtime.Object](s *step, k kind, namespace string, selector labels.Selector) ([]T, error) {
	objects, err := s.list(k, namespace, selector)
	if err != nil {
		return nil, err
	}
	typed := make([]T, len(objects))
	for i, obj := range objects {
		if typed[i], err = as[T](obj); err != nil {
			return nil, err
		}
	}
	return typed, nil
}

func as[T runtime.Object](obj runtime.Object) (T, error) {
	typed, ok := obj.(T)
	if !ok {
		return typed, fmt.Errorf("%T is not a %T", obj, typed)
	}
	return typed, nil
}

// create creates an object. The caller must not use the object afterwards.
func (s *step) create(k kind, namespace string, obj runtime.Object) error {
	// With a revision, the write is not tried again.
	return s.run("create", k, namespace, "", write.Request{Revision: s.of.server.Revision(), Change: write.Create{Object: sourceOf(obj)}})
}

// update writes an object, or a subresource of it. The caller must not use the object
// afterwards.
func (s *step) update(k kind, obj runtime.Object, subresource string) error {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	revision, err := revisionOf(obj)
	if err != nil {
		return err
	}
	return s.run("update", k, metadata.GetNamespace(), metadata.GetName(),
		write.Request{Subresource: subresource, Revision: revision, Change: write.Replace{Object: sourceOf(obj)}})
}

// apply applies a configuration to an object that the step has read, or to a subresource of it,
// and takes fields over from other managers.
func (s *step) apply(k kind, obj metav1.Object, subresource, manager string, configuration any) error {
	body, err := json.Marshal(configuration)
	if err != nil {
		return err
	}
	revision, err := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return err
	}
	return s.run("patch", k, obj.GetNamespace(), obj.GetName(),
		write.Request{Subresource: subresource, Manager: manager, Revision: revision, Change: write.Apply{Body: body, Force: true, Validation: metav1.FieldValidationIgnore}})
}

// delete deletes an object that the step has read.
func (s *step) delete(k kind, obj metav1.Object, options metav1.DeleteOptions) error {
	revision, err := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return err
	}
	return s.run("delete", k, obj.GetNamespace(), obj.GetName(), write.Request{Revision: revision, Change: write.Delete{Options: &options}})
}

// run carries out a write.
func (s *step) run(verb string, k kind, namespace, name string, w write.Request) error {
	v, err := s.version(k)
	if err != nil {
		return err
	}
	w.Version, w.Namespace, w.Name, w.Require = v, namespace, name, s.read
	switch {
	case w.Manager != "":
	case s.of.account == "":
		w.Manager = server
	default:
		w.Manager = manager
	}
	result, err := s.of.server.Run(s.ctx, s.of.account, verb, w)
	if write.NameIsTaken(err) {
		return fmt.Errorf("%w: %w", lifecycle.ErrConflict, err)
	}
	if err != nil {
		return err
	}
	return s.wrote(v, namespace, result)
}

// wrote records the revision of an object that the step has written itself. The revision of a
// delete is not known; if the step writes anything after it, the step is taken again.
func (s *step) wrote(v *resource.Version, namespace string, result write.Result) error {
	metadata := gjson.Get(result.Text, "metadata")
	revision, err := strconv.ParseInt(metadata.Get("resourceVersion").Str, 10, 64)
	if err != nil {
		return err
	}
	key := v.Resource.Key(namespace, metadata.Get("name").Str)
	for i := range s.read {
		p := &s.read[i]
		if (p.Key == key || p.Prefix && strings.HasPrefix(key, p.Key)) && revision > p.Revision {
			p.Revision = revision
		}
	}
	return nil
}

// sourceOf makes the source of a write, as if kube-controller-manager had sent the object: as
// protobuf, which has no empty lists. Missing fields get their defaults.
func sourceOf(obj runtime.Object) write.Source {
	return func(v *resource.Version) (resource.Decoded, error) {
		objects, out := v.Codec.Objects(), v.Codec.New()
		sent, err := objects.New(v.Kind())
		if err != nil {
			return resource.Decoded{}, err
		}
		from, ok := obj.(protobuf)
		to, also := sent.(protobuf)
		if !ok || !also {
			return resource.Decoded{}, fmt.Errorf("%T cannot be sent as protobuf", obj)
		}
		text, err := from.Marshal()
		if err != nil {
			return resource.Decoded{}, err
		}
		if err := to.Unmarshal(text); err != nil {
			return resource.Decoded{}, err
		}
		objects.Default(sent)
		err = objects.Convert(sent, out, nil)
		return resource.Decoded{Object: out}, err
	}
}

// protobuf is what all published API types are.
type protobuf interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func revisionOf(obj runtime.Object) (int64, error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(metadata.GetResourceVersion(), 10, 64)
}

// compareNames orders objects of one namespace.
func compareNames(a, b metav1.Object) int { return strings.Compare(a.GetName(), b.GetName()) }
