package crd

import (
	"fmt"
	"reflect"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fakecluster/fakecluster/internal/fields"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// scaleKind is the kind of every scale subresource.
var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// scale shows the replicas of a custom object as a Scale, by the paths in the definition. It implements
// resource.Projection.
type scale struct {
	view   *resource.Version
	kind   schema.GroupVersionKind // of the custom object
	paths  *apiextensions.CustomResourceSubresourceScale
	owners managedfields.ResourcePathMappings // the replicas path of each version
}

// unsetReplicas represents missing replicas during a write.
const unsetReplicas = -1 << 31

// newScaleView returns the version that shows the objects of a resource as Scales.
func newScaleView(r *resource.Resource) (*resource.Version, error) {
	codec := resource.NewTypedCodec(scheme.Scheme, scaleKind, scaleKind.GroupVersion(), scaleKind.Group, nil)
	table, err := newTable(scaleColumns)
	if err != nil {
		return nil, err
	}
	names := r.Names
	names.Kind = scaleKind.Kind
	return &resource.Version{
		Resource:   &resource.Resource{Group: scaleKind.Group, Names: names, Namespaced: r.Namespaced},
		Name:       scaleKind.Version,
		Typed:      true,
		Codec:      scaleCodec{codec},
		Patches:    codec.Patches(),
		Serializer: codec.Serializer(),
		Tables:     resource.Tables{Convertor: table, ReadCells: table.ReadCells},
		// The error of a real server has the kind of an unstructured object for a Scale.
		Exceptions: resource.Exceptions{Undecodable: runtime.NewNotRegisteredErrForType("pkg/runtime/scheme.go:111", reflect.TypeFor[autoscalingv1.Scale]()).Error()},
	}, nil
}

// scaleCodec is the codec of Scales of custom objects.
type scaleCodec struct{ resource.Codec }

// Objects implements resource.Codec.
func (c scaleCodec) Objects() resource.Objects { return scaleObjects{c.Codec.Objects()} }

// scaleObjects creates and converts Scales for admission. A real server creates unstructured objects for everything that
// belongs to a definition, and cannot convert these to a version of Scale. So a policy with a JSON patch for Scales
// rejects every request.
type scaleObjects struct{ resource.Objects }

// New implements runtime.ObjectCreater.
func (scaleObjects) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	return creater{}.New(kind)
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (o scaleObjects) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	if _, typed := in.(*autoscalingv1.Scale); !typed {
		kind := in.GetObjectKind().GroupVersionKind()
		if _, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{kind}); !ok { // a policy has changed apiVersion
			return nil, errUnsuitable(kind, target)
		}
		return nil, errNoScale
	}
	return o.Objects.ConvertToVersion(in, target)
}

// scaleColumns are the columns of a Table of Scales.
var scaleColumns = []apiextensions.CustomResourceColumnDefinition{
	{Name: "Desired", Type: "integer", Description: "Number of desired replicas", JSONPath: ".spec.replicas"},
	{Name: "Available", Type: "integer", Description: "Number of actual replicas", JSONPath: ".status.replicas"},
	{Name: "Age", Type: "date", Description: ageDescription, JSONPath: ".metadata.creationTimestamp"},
}

// replicaPaths returns the path of the replicas in each version of a definition.
func replicaPaths(crd *apiextensions.CustomResourceDefinition) managedfields.ResourcePathMappings {
	mappings := managedfields.ResourcePathMappings{}
	for _, v := range crd.Spec.Versions {
		apiVersion := crd.Spec.Group + "/" + v.Name
		mappings[apiVersion] = nil
		if s, err := apiextensions.GetSubresourcesForVersion(crd, v.Name); err == nil && s != nil && s.Scale != nil {
			path := fieldpath.Path{}
			for _, step := range splitPath(s.Scale.SpecReplicasPath) {
				path = append(path, fieldpath.PathElement{FieldName: &step})
			}
			mappings[apiVersion] = path
		}
	}
	return mappings
}

// scaleFields has the field management of Scales.
var scaleFields = sync.OnceValue(func() resource.Fields {
	types := resource.NewTypes(scheme.Scheme, openAPIDefinitions, scaleKind)
	return scaleOwners{
		resource.NewTypedFields(resource.Managing{
			Scheme: scheme.Scheme, Kind: scaleKind, Hub: scaleKind.GroupVersion(), Subresource: "scale", Types: types,
		}),
		sync.OnceValues(func() (*managedfields.FieldManager, error) {
			converter, err := types.Converter()
			if err != nil {
				return nil, err
			}
			objects := scaleConvertor{runtime.UnsafeObjectConvertor(scheme.Scheme)}
			return managedfields.NewDefaultFieldManager(converter, objects, scheme.Scheme, creater{}, scaleKind, scaleKind.GroupVersion(), "scale", nil)
		}),
	}
})

// scaleOwners manages the fields of Scales of custom objects. An apply uses upstream's field manager with the converter
// and creater of the definition, which returns an error in nearly all cases.
type scaleOwners struct {
	resource.Fields
	applies resource.FieldManager
}

// Apply implements resource.Fields.
func (f scaleOwners) Apply(current resource.Decoded, configuration *unstructured.Unstructured, manager string, force bool, now metav1.Time) (runtime.Object, *fields.Managed, error) {
	return f.applies.Apply(current, configuration, manager, force, now)
}

// scaleConvertor is the converter of a definition for Scales: it converts typed Scales only. So, as on a real server, an
// apply fails if it changes the Scale, or if no field has an owner.
type scaleConvertor struct{ runtime.ObjectConvertor }

// errNoScale is the error of the converter of a definition for a Scale.
var errNoScale = fmt.Errorf("request to convert CR to an invalid group/version: %s", scaleKind.GroupVersion())

// ConvertToVersion implements runtime.ObjectConvertor.
func (c scaleConvertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	if _, ok := in.(*unstructured.Unstructured); ok {
		return nil, errNoScale
	}
	return c.ObjectConvertor.ConvertToVersion(in, target)
}

// View implements resource.Projection.
func (s *scale) View() *resource.Version { return s.view }

// Project implements resource.Projection.
func (s *scale) Project(obj runtime.Object) (runtime.Object, error) {
	out, found, err := s.read(obj)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", s.paths.SpecReplicasPath))
	}
	return out, nil
}

// Written implements resource.Projection. Missing replicas become 0: a schema may prune the replicas that were just set.
func (s *scale) Written(obj runtime.Object) (runtime.Object, error) {
	out, _, err := s.read(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return out, nil
}

// Before implements resource.Projection.
func (s *scale) Before(obj runtime.Object) (runtime.Object, error) {
	out, found, err := s.read(obj)
	if err != nil {
		return nil, err
	}
	if !found {
		out.Spec.Replicas = unsetReplicas
	}
	out.ManagedFields, err = s.fields(obj).ToSubresource()
	return out, err
}

// Into implements resource.Projection.
func (s *scale) Into(obj, projected runtime.Object) (runtime.Object, error) {
	u := obj.DeepCopyObject().(*unstructured.Unstructured)
	wanted, ok := projected.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("wrong object passed to Scale update: %v", projected))
	}
	if wanted.Spec.Replicas == unsetReplicas {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", s.paths.SpecReplicasPath))
	}
	if err := unstructured.SetNestedField(u.Object, int64(wanted.Spec.Replicas), splitPath(s.paths.SpecReplicasPath)...); err != nil {
		return nil, err
	}
	if wanted.ResourceVersion != "" {
		u.SetResourceVersion(wanted.ResourceVersion)
	}
	managed, err := s.fields(obj).ToParent(wanted.ManagedFields)
	if err != nil {
		return nil, err
	}
	u.SetManagedFields(managed)
	return u, nil
}

// fields returns the handler that translates owners of the replicas between the object and its Scale.
func (s *scale) fields(obj runtime.Object) *managedfields.ScaleHandler {
	return managedfields.NewScaleHandler(obj.(*unstructured.Unstructured).GetManagedFields(), s.kind.GroupVersion(), s.owners)
}

// read returns the Scale of an object, and whether the object has the field of the wanted replicas.
func (s *scale) read(obj runtime.Object) (*autoscalingv1.Scale, bool, error) {
	u := obj.(*unstructured.Unstructured)
	wanted, found, err := unstructured.NestedInt64(u.Object, splitPath(s.paths.SpecReplicasPath)...)
	if err != nil {
		return nil, false, err
	}
	there, _, err := unstructured.NestedInt64(u.Object, splitPath(s.paths.StatusReplicasPath)...)
	if err != nil {
		return nil, false, err
	}
	selector := ""
	if path := s.paths.LabelSelectorPath; path != nil && *path != "" {
		if selector, _, err = unstructured.NestedString(u.Object, splitPath(*path)...); err != nil {
			return nil, false, err
		}
	}
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: scaleKind.GroupVersion().String(), Kind: scaleKind.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(),
			ResourceVersion: u.GetResourceVersion(), CreationTimestamp: u.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(wanted)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(there), Selector: selector},
	}, found, nil
}
