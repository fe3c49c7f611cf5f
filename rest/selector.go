package rest

import (
	"strings"

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

// one tells whether the selector can pick one object at the most: it names it.
func (s selector) one(namespace string) bool {
	if s.fields == nil {
		return false
	}
	if s.version.Resource.Namespaced && namespace == "" {
		if _, ok := s.fields.RequiresExactMatch("metadata.namespace"); !ok {
			return false
		}
	}
	_, ok := s.fields.RequiresExactMatch("metadata.name")
	return ok
}

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
	// The usual selector of all is the name of an object, and nothing else.
	if name, ok := s.fields.RequiresExactMatch("metadata.name"); ok && s.version.Resource.NameOf(record.Key) != name {
		return false, nil
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

// labelsOf are the labels of a stored object.
func labelsOf(text string) rawLabels {
	return rawLabels(gjson.Get(text, "metadata.labels").Raw)
}

// rawLabels are labels in the JSON that they are stored as, which is looked into
// for each label that is asked for: a selector asks for few. Neither keys nor
// values of labels hold anything that JSON escapes.
type rawLabels string

// Lookup implements labels.Labels.
func (l rawLabels) Lookup(label string) (value string, found bool) {
	rest := string(l)
	for {
		at := strings.Index(rest, label)
		if at < 0 {
			return "", false
		}
		after, isKey := strings.CutPrefix(rest[at+len(label):], `":"`)
		if isKey && at > 0 && rest[at-1] == '"' {
			end := strings.IndexByte(after, '"')
			return after[:max(end, 0)], end >= 0
		}
		rest = rest[at+len(label):]
	}
}

// Has implements labels.Labels.
func (l rawLabels) Has(label string) bool {
	_, found := l.Lookup(label)
	return found
}

// Get implements labels.Labels.
func (l rawLabels) Get(label string) string {
	value, _ := l.Lookup(label)
	return value
}
