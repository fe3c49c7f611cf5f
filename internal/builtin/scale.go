package builtin

import (
	"context"
	"fmt"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// scaleKind is the kind of every scale subresource.
var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// scaled converts objects of a kind to Scales and back.
type scaled struct {
	// read returns the wanted and the current number of replicas, and the selector of the pods.
	read func(obj runtime.Object) (wanted, has int32, selector labels.Selector, err error)
	// write sets the wanted number of replicas.
	write func(obj runtime.Object, wanted int32)
}

// scaledBy returns the scaled of a kind. replicasOf returns a pointer to the wanted number of replicas of an object, the
// current number, and the selector of the pods.
func scaledBy[T runtime.Object](replicasOf func(T) (wanted *int32, has int32, selector *metav1.LabelSelector)) *scaled {
	return &scaled{
		read: func(obj runtime.Object) (int32, int32, labels.Selector, error) {
			wanted, has, selects := replicasOf(obj.(T))
			selector, err := metav1.LabelSelectorAsSelector(selects)
			return *wanted, has, selector, err
		},
		write: func(obj runtime.Object, replicas int32) {
			wanted, _, _ := replicasOf(obj.(T))
			*wanted = replicas
		},
	}
}

// scaleFields is the field management of Scales.
var scaleFields = sync.OnceValue(func() *resource.TypedFields { return viewFields(scaleKind, "scale") })

// viewFields returns the field management of a kind for subresources with a name.
func viewFields(kind schema.GroupVersionKind, name string) *resource.TypedFields {
	return resource.NewTypedFields(resource.Managing{
		Scheme: legacyscheme.Scheme, Kind: kind, Hub: internalIn(kind.Group),
		Subresource: name, Types: resource.NewTypes(legacyscheme.Scheme, definitionsV3, kind),
	})
}

// projection shows objects of a version as Scales. It implements resource.Projection.
type projection struct {
	scaled
	view    *resource.Version
	version *resource.Version
}

func (s *scaled) projection(version *resource.Version) resource.Projection {
	view := viewAs(scaleKind, version)
	view.Tables.Convertor = printed{}
	return projection{scaled: *s, version: version, view: view}
}

// viewAs returns the version of another kind for a subresource.
func viewAs(kind schema.GroupVersionKind, version *resource.Version) *resource.Version {
	codec := resource.NewTypedCodec(legacyscheme.Scheme, kind, internalIn(kind.Group), kind.Group, nil)
	names := version.Resource.Names
	names.Kind = kind.Kind
	return &resource.Version{
		Resource: &resource.Resource{Group: kind.Group, Names: names, Namespaced: version.Resource.Namespaced},
		Name:     kind.Version, Typed: true,
		Codec: codec, Serializer: codec.Serializer(),
		Patches: codec.Patches(),
	}
}

// View implements resource.Projection.
func (p projection) View() *resource.Version { return p.view }

// Project implements resource.Projection.
func (p projection) Project(obj runtime.Object) (runtime.Object, error) { return p.scale(obj) }

// Written implements resource.Projection.
func (p projection) Written(obj runtime.Object) (runtime.Object, error) { return p.scale(obj) }

// Before implements resource.Projection.
func (p projection) Before(obj runtime.Object) (runtime.Object, error) {
	scale, err := p.scale(obj)
	if err != nil {
		return nil, err
	}
	fields, err := p.fields(obj)
	if err != nil {
		return nil, err
	}
	scale.ManagedFields, err = fields.ToSubresource()
	return scale, err
}

// Into implements resource.Projection.
func (p projection) Into(obj, projected runtime.Object) (runtime.Object, error) {
	scale, ok := projected.(*autoscaling.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected input object type to be Scale, but %T", projected))
	}
	old, err := p.scale(obj)
	if err != nil {
		return nil, err
	}
	out := obj.DeepCopyObject()
	metadata, err := meta.Accessor(out)
	if err != nil {
		return nil, err
	}
	if errs := autoscalingvalidation.ValidateScaleUpdate(p.context(), scale, old, legacyscheme.Scheme, scaleVersion{}); len(errs) > 0 {
		return nil, apierrors.NewInvalid(autoscaling.Kind("Scale"), metadata.GetName(), errs)
	}
	if uid := scale.UID; uid != "" && uid != metadata.GetUID() {
		gr := p.version.Resource.GroupResource()
		gr.Resource += "/scale"
		return nil, apierrors.NewConflict(gr, metadata.GetName(),
			fmt.Errorf("%s: UID in precondition: %v, UID in object meta: %v", "Precondition failed", uid, metadata.GetUID())) // upstream's text, capitalized
	}
	metadata.SetResourceVersion(scale.ResourceVersion)
	p.write(out, scale.Spec.Replicas)
	fields, err := p.fields(obj)
	if err != nil {
		return nil, err
	}
	managed, err := fields.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	metadata.SetManagedFields(managed)
	return out, nil
}

// context returns the context of a write to the Scale, with everything that validation reads from it.
func (p projection) context() context.Context {
	return apirequest.WithRequestInfo(context.Background(), &apirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: p.version.Resource.Group, APIVersion: p.version.Name, Resource: p.version.Resource.Names.Plural, Subresource: "scale",
	})
}

// scaleVersion makes validation use the version of Scale for objects of any version.
type scaleVersion struct{}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (scaleVersion) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind { return scaleKind }

// fields returns the handler that translates managedFields between the object and its Scale, so that the owner of the
// replicas is the same in both.
func (p projection) fields(obj runtime.Object) (*managedfields.ScaleHandler, error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	gv := p.version.GroupVersion()
	return managedfields.NewScaleHandler(metadata.GetManagedFields(), gv, managedfields.ResourcePathMappings{
		gv.String(): fieldpath.MakePathOrDie("spec", "replicas"),
	}), nil
}

// scale returns the Scale of an object.
func (p projection) scale(obj runtime.Object) (*autoscaling.Scale, error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	wanted, has, selector, err := p.read(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return &autoscaling.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: metadata.GetName(), Namespace: metadata.GetNamespace(), UID: metadata.GetUID(),
			ResourceVersion: metadata.GetResourceVersion(), CreationTimestamp: metadata.GetCreationTimestamp(),
		},
		Spec:   autoscaling.ScaleSpec{Replicas: wanted},
		Status: autoscaling.ScaleStatus{Replicas: has, Selector: selector.String()},
	}, nil
}
