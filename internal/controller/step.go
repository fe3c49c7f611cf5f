package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// step is one attempt of a controller to sync a key. It must not alter the objects that it reads.
type step struct {
	controllers *Controllers
	server      *Server
	controller  *controller
	key         key
	queue       *queue
	ctx         context.Context
	// read has the keys that the step has read, with their revisions, as preconditions of its writes.
	read []store.Precondition
	// again is the time at which to sync the key again; zero: only after a change.
	again time.Time
}

func (s *step) now() time.Time { return s.server.now() }

// syncAgainBy sets the time at which to sync the key again, unless an earlier one is set.
func (s *step) syncAgainBy(t time.Time) {
	if s.again.IsZero() || t.Before(s.again) {
		s.again = t
	}
}

// enqueue adds keys of the controller to the end of the queue.
func (s *step) enqueue(keys ...key) {
	for _, k := range keys {
		s.queue.add(item{s.controller, k})
	}
}

// enqueueAt syncs a key of the controller at a later time.
func (s *step) enqueueAt(k key, t time.Time) {
	s.controllers.syncAt(s.queue.writer, item{s.controller, k}, t)
}

// scheduled returns the keys of the controller with an alarm.
func (s *step) scheduled() []key { return s.controllers.alarms.keys(s.controller) }

// refuse prevents another sync of the key before the write returns.
func (s *step) refuse() { s.queue.refuse(item{s.controller, s.key}) }

func (s *step) version(k kind) (*resource.Version, error) { return s.server.version(k) }

// get reads an object. It fails with NotFound if it does not exist.
func (s *step) get(k kind, namespace, name string) (runtime.Object, error) {
	v, err := s.version(k)
	if err != nil {
		return nil, err
	}
	obj, err := s.server.Cluster.Get(v, namespace, name)
	found := store.Precondition{Key: v.Resource.Key(namespace, name)}
	if err == nil {
		found.Revision, err = revisionOf(obj)
	}
	if err == nil || apierrors.IsNotFound(err) {
		s.read = append(s.read, found)
	}
	return obj, err
}

// list reads the objects of a namespace that match a selector, sorted by key. An empty namespace means all namespaces, a
// nil selector all objects.
func (s *step) list(k kind, namespace string, selector labels.Selector) ([]runtime.Object, error) {
	v, err := s.version(k)
	if err != nil {
		return nil, err
	}
	s.read = append(s.read, store.Precondition{Key: v.Resource.PrefixOf(namespace), Revision: s.server.Records.Revision(), Prefix: true})
	return s.server.Cluster.List(v, namespace, selector)
}

// find is get for a type. It returns the zero value if the object does not exist.
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

// copyOf is get for a type. The caller may alter the object.
func copyOf[T runtime.Object](s *step, k kind, namespace, name string) (found T, err error) {
	obj, err := s.get(k, namespace, name)
	if err != nil {
		return found, err
	}
	return as[T](obj.DeepCopyObject())
}

// record reads the record of an object. It fails with NotFound if it does not exist.
func (s *step) record(res *resource.Resource, namespace, name string) (store.Record, error) {
	key := res.Key(namespace, name)
	record, err := s.server.Records.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		err = apierrors.NewNotFound(res.GroupResource(), name)
	}
	if err == nil || apierrors.IsNotFound(err) {
		s.read = append(s.read, store.Precondition{Key: key, Revision: record.Revision})
	}
	return record, err
}

// records reads the records of a resource in a namespace; empty: in all. Later changes of these objects do not stop the
// writes of the step: the caller must ensure that each change enqueues the key again.
func (s *step) records(res *resource.Resource, namespace string) ([]store.Record, error) {
	list, err := s.server.Records.List(res.PrefixOf(namespace), store.ListOptions{})
	return list.Records, err
}

// listed is list for a type.
func listed[T runtime.Object](s *step, k kind, namespace string, selector labels.Selector) ([]T, error) {
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
	// With a revision, the pipeline does not retry the write.
	return s.run("create", k, namespace, "", write.Request{Revision: s.server.Records.Revision(), Change: write.Create{Object: sent(obj)}})
}

// update updates an object or a subresource. The caller must not use the object afterwards.
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
		write.Request{Subresource: subresource, Revision: revision, Change: write.Replace{Object: sent(obj)}})
}

// apply applies a configuration to an object that the step has read, or to its subresource, with force.
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

// applyStatus applies a status to an object that the step has read, with the given field manager.
func (s *step) applyStatus(k kind, obj metav1.Object, manager string, status map[string]any) error {
	v, err := s.version(k)
	if err != nil {
		return err
	}
	configuration := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	configuration.SetGroupVersionKind(v.Kind())
	configuration.SetNamespace(obj.GetNamespace())
	configuration.SetName(obj.GetName())
	return s.apply(k, obj, "status", manager, configuration)
}

// run carries out a write of an object of a kind.
func (s *step) run(verb string, k kind, namespace, name string, w write.Request) error {
	v, err := s.version(k)
	if err != nil {
		return err
	}
	return s.write(verb, v, namespace, name, w)
}

// write carries out a write in a version. It fails with errConflict if the step must be repeated. For a write with a
// revision, that is exactly when the revision is obsolete: any other 409 or 404 comes from admission.
func (s *step) write(verb string, v *resource.Version, namespace, name string, w write.Request) error {
	w.Version, w.Namespace, w.Name = v, namespace, name
	if w.Revision != 0 {
		w.Require = s.read
	}
	if w.Manager == "" {
		w.Manager = s.controller.identity.manager
	}
	result, err := s.queue.writer.WriteAs(s.ctx, s.controller.identity, verb, w)
	switch {
	case errors.Is(err, write.ErrObsolete), errors.Is(err, write.ErrNotServed), write.NameIsTaken(err):
		return fmt.Errorf("%w: %w", errConflict, err)
	case w.Revision != 0 && verb != "create" && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)):
		return fmt.Errorf("rejected: %s", err.Error())
	case err != nil:
		return err
	}
	s.wrote(v, namespace, result)
	return nil
}

// wrote stores the revision of an object that the step has written itself. The revision of a delete is not known: a
// later write that depends on it repeats the step.
func (s *step) wrote(v *resource.Version, namespace string, result write.Result) {
	if len(s.read) == 0 {
		return
	}
	metadata := gjson.Get(result.Text, "metadata")
	revision, err := strconv.ParseInt(metadata.Get("resourceVersion").Str, 10, 64)
	if err != nil {
		return
	}
	key := v.Resource.Key(namespace, metadata.Get("name").Str)
	for i := range s.read {
		p := &s.read[i]
		if (p.Key == key || p.Prefix && strings.HasPrefix(key, p.Key)) && revision > p.Revision {
			p.Revision = revision
		}
	}
}

// sent returns the object of a write as if kube-controller-manager had sent it in protobuf, which has no empty lists.
// Missing fields get their defaults. An object of the internal type, such as a definition, is not copied, because it can
// be large and the write is tried only once.
func sent(obj runtime.Object) write.Made {
	return func(v *resource.Version) (resource.Decoded, error) {
		objects, out := v.Codec.Objects(), v.Codec.New()
		if reflect.TypeOf(obj) == reflect.TypeOf(out) {
			return resource.Decoded{Object: obj}, nil
		}
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

// protobuf is implemented by all API types.
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

// compareNames compares objects of one namespace.
func compareNames(a, b metav1.Object) int { return strings.Compare(a.GetName(), b.GetName()) }
