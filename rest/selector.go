package rest

import (
	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fakecluster/fakecluster/rest/resource"
	"github.com/fakecluster/fakecluster/store"
)

// selector picks objects by their labels and fields.
type selector struct {
	version *resource.Version
	labels  labels.Selector // nil: any
	fields  fields.Selector // nil: any
}

// newSelector checks the selectors of a list or watch against what the version
// can select by.
func newSelector(v *resource.Version, o *internalversion.ListOptions) (selector, error) {
	s := selector{version: v}
	if o.LabelSelector != nil && !o.LabelSelector.Empty() {
		s.labels = o.LabelSelector
	}
	if o.FieldSelector != nil && !o.FieldSelector.Empty() {
		converted, err := o.FieldSelector.Transform(v.Codec.ConvertFieldLabel)
		if err != nil {
			return s, apierrors.NewBadRequest(err.Error())
		}
		s.fields = converted
	}
	return s, nil
}

// all tells whether the selector picks everything.
func (s selector) all() bool { return s.labels == nil && s.fields == nil }

// matches tells whether the selector picks a stored object. It looks into the
// bytes, and decodes them only for fields that are not metadata.
func (s selector) matches(record store.Record) (bool, error) {
	if s.labels != nil && !s.labels.Matches(labelsOf(record.Value)) {
		return false, nil
	}
	if s.fields == nil {
		return true, nil
	}
	for _, requirement := range s.fields.Requirements() {
		if requirement.Field != "metadata.name" && requirement.Field != "metadata.namespace" {
			return s.matchesFields(record)
		}
	}
	return s.fields.Matches(s.nameOf(record.Key)), nil
}

func (s selector) matchesFields(record store.Record) (bool, error) {
	obj, err := s.version.Codec.DecodeStored(record)
	if err != nil {
		return false, err
	}
	set, err := s.version.Codec.Fields(obj)
	if err != nil {
		return false, err
	}
	return s.fields.Matches(set), nil
}

// nameOf are the fields that the key of an object tells.
func (s selector) nameOf(key string) fields.Set {
	set := fields.Set{"metadata.name": s.version.Resource.NameOf(key)}
	if s.version.Resource.Namespaced {
		set["metadata.namespace"] = s.version.Resource.NamespaceOf(key)
	}
	return set
}

func labelsOf(text string) labels.Set {
	set := labels.Set{}
	gjson.Get(text, "metadata.labels").ForEach(func(key, value gjson.Result) bool {
		set[key.String()] = value.String()
		return true
	})
	return set
}
