package fakecluster

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/server/console"
)

// Named returns an object that has only a kind, a namespace and a name, for [Cluster.History] and
// [Cluster.ObjectAt]:
//
//	c.History(fakecluster.Named("apps/v1", "Deployment", "default", "web"))
func Named(apiVersion, kind, namespace, name string) runtime.Object {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiVersion, Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
}

// History returns the states of an object that the cluster remembers, the oldest first, each with its writer
// and its changes. It is empty for an object that never existed. Only the kind, the name and the
// namespace of obj are read: it may be one that the test has sent or read, or
// [Named]. The states are in the version of its kind. As with
// [WithObjects], a typed object need not name its kind if its type is in a scheme, and an object without
// a namespace is in "default".
//
// The history reaches as far back as watches do ([WithWatchHistory]). The managedFields are
// compared only if nothing else has changed, and resourceVersion and generation never, because the
// server counts them.
//
// It is an error if the cluster does not serve the kind.
func (c *Cluster) History(obj runtime.Object) (inspect.History, error) {
	kind, namespace, name, err := c.settings.nameOf(obj)
	if err != nil {
		return nil, err
	}
	return console.ObjectHistory(c.server, kind, namespace, name)
}

// ObjectAt returns an object as it was at a revision, which may be that of a write to any object.
// As with [Cluster.History], only the kind, the namespace and the name of obj are read. The errors
// are those of the API: NotFound if there was no such object, Expired (410) if the revision is
// older than the history of watches, and a timeout if it is in the future.
func (c *Cluster) ObjectAt(obj runtime.Object, revision int64) (*unstructured.Unstructured, error) {
	kind, namespace, name, err := c.settings.nameOf(obj)
	if err != nil {
		return nil, err
	}
	if revision < 1 {
		return nil, fmt.Errorf("there is no revision %d: the first is 1", revision)
	}
	content, err := console.ObjectAt(c.server, kind, namespace, name, revision)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// nameOf returns what names an object.
func (s *settings) nameOf(obj runtime.Object) (kind schema.GroupVersionKind, namespace, name string, err error) {
	if obj == nil {
		return kind, "", "", errNilObject
	}
	u, err := s.toUnstructured(obj)
	if err != nil {
		return kind, "", "", err
	}
	if u.GetName() == "" {
		return kind, "", "", fmt.Errorf("the %s does not have a name", u.GetKind())
	}
	namespace = u.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return u.GroupVersionKind(), namespace, u.GetName(), nil
}
