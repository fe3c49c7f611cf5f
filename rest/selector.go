package rest

import (
	"strings"

	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// selector picks objects by their labels and fields.
type selector struct {
	version *resource.Version
	labels  labels.Selector      // nil: any
	fields  fields.Selector      // nil: any
	names   []fields.Requirement // of fields, those that the key of an object tells
	inside  []fields.Requirement // of fields, the others

	// view is the JSON of a stored object in the version.
	view func(store.Record) (string, error)
}

// newSelector checks the selectors of a list or watch against what the version
// can select by.
func newSelector(v *resource.Version, o *internalversion.ListOptions) (selector, error) {
	s := selector{version: v, view: func(record store.Record) (string, error) { return view(v, record) }}
	if o.LabelSelector != nil && !o.LabelSelector.Empty() {
		s.labels = o.LabelSelector
	}
	if o.FieldSelector == nil || o.FieldSelector.Empty() {
		return s, nil
	}
	converted, err := o.FieldSelector.Transform(v.Codec.ConvertFieldLabel)
	if err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	s.fields = converted
	for _, requirement := range converted.Requirements() {
		switch requirement.Field {
		case "metadata.name", "metadata.namespace":
			s.names = append(s.names, requirement)
		default:
			s.inside = append(s.inside, requirement)
		}
	}
	return s, nil
}

// all tells whether the selector picks everything.
func (s selector) all() bool { return s.labels == nil && s.fields == nil }

// one is the key of the one object that the selector can pick among those of a
// namespace, or of all: it names it.
func (s selector) one(namespace string) (key string, ok bool) {
	if s.fields == nil {
		return "", false
	}
	if s.version.Resource.Namespaced && namespace == "" {
		if namespace, ok = s.fields.RequiresExactMatch("metadata.namespace"); !ok {
			return "", false
		}
	}
	name, ok := s.fields.RequiresExactMatch("metadata.name")
	return s.version.Resource.Key(namespace, name), ok
}

// matches tells whether the selector picks a stored object.
func (s selector) matches(record store.Record) (bool, error) {
	if !s.matchesNames(record.Key) {
		return false, nil
	}
	index := record.Index
	if s.relabels() && !s.version.Wrote(record) {
		text, err := s.view(record)
		if err != nil {
			return false, err
		}
		index = labelsOf(text)
	}
	if !s.matchesLabels(index) {
		return false, nil
	}
	return s.matchesInside(record)
}

// relabels tells whether the index of an object may not say what it is to be picked
// by: a webhook that converts it may change its labels.
func (s selector) relabels() bool { return s.labels != nil && s.version.Resource.CallsOut }

// matchesLabels tells whether the selector picks objects with the labels of an
// index, see labelsOf.
func (s selector) matchesLabels(index string) bool {
	return s.labels == nil || s.labels.Matches(rawLabels(index))
}

// labelMatcher is matchesLabels for one object after the other: those beside each
// other often have the same labels.
type labelMatcher struct {
	selector
	last  string
	known bool // whether match is what the last labels came to
	match bool
}

func (m *labelMatcher) matchesLabels(index string) bool {
	if m.labels == nil {
		return true
	}
	if !m.known || m.last != index {
		m.last, m.known, m.match = index, true, m.selector.matchesLabels(index)
	}
	return m.match
}

// matchesNames tells whether the selector picks the object of a key by its name
// and its namespace.
func (s selector) matchesNames(key string) bool {
	for _, requirement := range s.names {
		var value string
		if requirement.Field == "metadata.name" {
			value = s.version.Resource.NameOf(key)
		} else {
			value = s.version.Resource.NamespaceOf(key)
		}
		if !satisfies(requirement, value) {
			return false
		}
	}
	return true
}

// matchesInside tells whether the selector picks a stored object by fields that
// are not its names. They are read from the bytes, if these are what the version
// shows and the codec can; else from the object.
func (s selector) matchesInside(record store.Record) (bool, error) {
	asStored := record.Tag == s.version.Identity
	for i, requirement := range s.inside {
		value, ok := "", false
		if asStored {
			value, ok = s.version.Codec.ReadField(record.Value, requirement.Field)
		}
		if !ok {
			return s.matchesDecoded(record, s.inside[i:])
		}
		if !satisfies(requirement, value) {
			return false, nil
		}
	}
	return true, nil
}

func (s selector) matchesDecoded(record store.Record, requirements []fields.Requirement) (bool, error) {
	obj, err := s.version.Codec.DecodeStored(record)
	if err != nil {
		return false, err
	}
	set, err := s.version.Codec.Fields(obj)
	if err != nil {
		return false, err
	}
	for _, requirement := range requirements {
		if !satisfies(requirement, set.Get(requirement.Field)) {
			return false, nil
		}
	}
	return true, nil
}

// satisfies tells whether a field may have a value. A field selector knows no
// more than these two operators, and joins its requirements by and.
func satisfies(r fields.Requirement, value string) bool {
	return (r.Value == value) == (r.Operator != selection.NotEquals)
}

// labelsOf is the JSON of the labels of an encoded object: the index that the
// store keeps beside it.
func labelsOf(text string) string { return gjson.Get(text, "metadata.labels").Raw }

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
