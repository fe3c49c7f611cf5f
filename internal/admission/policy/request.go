package policy

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	admissionauthorizer "k8s.io/apiserver/pkg/admission/plugin/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
)

// request is a write for policies. Each part is computed once, when a policy first needs it.
type request struct {
	*restadmission.Write
	resource    schema.GroupVersionResource
	subresource string
	operation   admission.Operation
	namespace   string // of the object; for a Namespace its own name
	name        string

	equivalents []schema.GroupVersionResource // the resource in its other versions
	othersRead  bool
	versions    map[schema.GroupVersionKind]*admission.VersionedAttributes
	in          func() (*corev1.Namespace, error)
	labels      func() objectLabels
	authz       authorizer.UnconditionalAuthorizer
}

func newRequest(w *restadmission.Write) *request {
	r := &request{
		Write: w, resource: w.GetResource(), subresource: w.GetSubresource(), operation: w.GetOperation(),
		namespace: w.GetNamespace(), name: w.GetName(),
	}
	r.in = sync.OnceValues(func() (*corev1.Namespace, error) { return w.Cluster.Namespace(r.namespace) })
	r.labels = sync.OnceValue(func() objectLabels { return objectLabels{labelsOf(w.GetObject()), labelsOf(w.GetOldObject())} })
	return r
}

// objectLabels has the labels for an objectSelector: of the object and of the old object. nil means that the object does
// not exist.
type objectLabels struct{ after, before labels.Set }

// others returns the resource in its other versions.
func (r *request) others() []schema.GroupVersionResource {
	if !r.othersRead {
		r.othersRead = true
		for _, gvr := range r.GetEquivalentResourceMapper().EquivalentResourcesFor(r.resource, r.subresource) {
			if gvr != r.resource {
				r.equivalents = append(r.equivalents, gvr)
			}
		}
	}
	return r.equivalents
}

// as returns the write with its objects in the version of a kind.
func (r *request) as(kind schema.GroupVersionKind) (*admission.VersionedAttributes, error) {
	if versioned := r.versions[kind]; versioned != nil {
		return versioned, nil
	}
	versioned, err := admission.NewVersionedAttributes(r.Write, kind, r.Write)
	if err != nil {
		return nil, err
	}
	if r.versions == nil {
		r.versions = map[schema.GroupVersionKind]*admission.VersionedAttributes{}
	}
	r.versions[kind] = versioned
	return versioned, nil
}

func (r *request) authorizer() authorizer.UnconditionalAuthorizer {
	if r.authz == nil {
		r.authz = admissionauthorizer.NewCachingAuthorizer(r.Cluster.Authorizer())
	}
	return r.authz
}

// namespaceObject returns the namespace for expressions. It is nil for cluster-scoped objects, including Namespaces.
func (r *request) namespaceObject() (*corev1.Namespace, error) {
	if r.namespace == "" || r.GetKind() == corev1.SchemeGroupVersion.WithKind("Namespace") {
		return nil, nil
	}
	return r.in()
}

// namespaceLabels returns the labels for a namespaceSelector.
func (r *request) namespaceLabels() (labels.Set, error) {
	if r.resource.Resource == "namespaces" && r.subresource == "" && r.operation != admission.Delete {
		metadata, err := meta.Accessor(r.GetObject())
		if err != nil {
			return nil, err
		}
		return metadata.GetLabels(), nil
	}
	namespace, err := r.in()
	if err != nil {
		return nil, err
	}
	return namespace.Labels, nil
}

func labelsOf(obj runtime.Object) labels.Set {
	if obj == nil {
		return nil
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	if set := metadata.GetLabels(); set != nil {
		return set
	}
	return labels.Set{}
}
