package crd

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// definitionFields knows who owns which field of a definition in one version. It has
// upstream look at no more of the spec than it has to: specs are large.
type definitionFields struct {
	resource.FieldManager
	codec *definitionCodec
}

// Update implements resource.Fields.
func (f definitionFields) Update(current, obj runtime.Object, manager string, now metav1.Time) (runtime.Object, error) {
	short, shortCurrent, ok := f.codec.abridge(obj, current)
	if !ok {
		return f.FieldManager.Update(current, obj, manager, now)
	}
	managed, err := f.FieldManager.Update(shortCurrent, short, manager, now)
	if err != nil {
		return nil, err
	}
	obj.(*apiextensions.CustomResourceDefinition).ManagedFields = managed.(*apiextensions.CustomResourceDefinition).ManagedFields
	return obj, nil
}

// abridge leaves out of a definition and the current one, which is empty for a
// create, what makes no difference to field management: the fields of what it returns are owned
// as those of what it is given. ok tells whether it can. Only the top level of a spec
// counts for who owns what: its versions belong to one owner as a whole.
func (c *definitionCodec) abridge(obj, current runtime.Object) (short, shortCurrent runtime.Object, ok bool) {
	is := obj.(*apiextensions.CustomResourceDefinition)
	k := known(&is.Spec)
	if k == nil {
		return nil, nil, false
	}
	shortIs := copyDefinition(is)
	was := current.(*apiextensions.CustomResourceDefinition)
	if len(was.Spec.Versions) == 0 {
		shortIs.Spec = abridged(is.Spec)
		return shortIs, current, c.kind == kind
	}
	if k != known(&was.Spec) {
		return nil, nil, false
	}
	shortWas := copyDefinition(was)
	shortIs.Spec, shortWas.Spec = apiextensions.CustomResourceDefinitionSpec{}, apiextensions.CustomResourceDefinitionSpec{}
	return shortIs, shortWas, true
}

// abridged is a spec with one version that says nothing.
func abridged(spec apiextensions.CustomResourceDefinitionSpec) apiextensions.CustomResourceDefinitionSpec {
	spec.Versions = []apiextensions.CustomResourceDefinitionVersion{{Name: spec.Versions[0].Name}}
	spec.Validation, spec.Subresources, spec.AdditionalPrinterColumns, spec.SelectableFields = nil, nil, nil, nil
	return spec
}
