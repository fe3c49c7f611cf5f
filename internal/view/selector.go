package view

import (
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/fakecluster/fakecluster/internal/metadata"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Selector picks objects by their labels and fields.
type Selector struct {
	version *resource.Version
	labels  labels.Selector      // nil: any
	fields  fields.Selector      // nil: any
	names   []fields.Requirement // of fields, those that the key of an object contains
	inside  []fields.Requirement // of fields, the others

	text func(store.Record) (string, error) // the JSON of a record in the version
}

// NewSelector returns the selector of a list or watch, and an error for fields by which the version cannot select. The
// selector calls text for the JSON of a record in the version: [Text], or a function that shares its results.
func NewSelector(v *resource.Version, o *internalversion.ListOptions, text func(store.Record) (string, error)) (Selector, error) {
	s := Selector{version: v, text: text}
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

// All reports whether the selector matches everything.
func (s Selector) All() bool { return s.labels == nil && s.fields == nil }

// narrowed returns the namespace in which a list of all namespaces looks: the one that the selector names, if the name
// is valid. As on a real server, the token for the next page is then relative to the namespace, but a list with a token
// looks in all namespaces: it continues at another place.
func (s Selector) narrowed(namespace string) string {
	if s.fields == nil || namespace != "" || !s.version.Resource.Namespaced {
		return namespace
	}
	named, ok := s.fields.RequiresExactMatch("metadata.namespace")
	if !ok || len(validation.ValidateNamespaceName(named, false)) > 0 {
		return ""
	}
	return named
}

// one returns the key of the only object that the selector can match in a namespace, because the selector names it. ok
// is false for a name that no key can have: as on a real server, all objects are searched for it.
func (s Selector) one(namespace string) (key string, ok bool) {
	if s.fields == nil || s.version.Resource.Namespaced && namespace == "" {
		return "", false
	}
	name, ok := s.fields.RequiresExactMatch("metadata.name")
	if !ok || name == "" || len(content.IsPathSegmentName(name)) > 0 {
		return "", false
	}
	return s.version.Resource.Key(namespace, name), true
}

// Matches reports whether the selector matches a stored object.
func (s Selector) Matches(record store.Record) (bool, error) {
	if !s.matchesNames(record.Key) || !s.matchesOwnName(record) {
		return false, nil
	}
	index := record.Index
	if s.relabels() && !s.version.Wrote(record) {
		text, err := s.text(record)
		if err != nil {
			return false, err
		}
		index = Labels(text)
	}
	if !s.matchesLabels(index) {
		return false, nil
	}
	return s.matchesInside(record)
}

// relabels reports whether an object may have other labels in the version than in the store,
// because a conversion webhook may change them.
func (s Selector) relabels() bool { return s.labels != nil && s.version.Resource.ConvertedByWebhook }

// matchesLabels reports whether the selector matches labels, given as [Labels] returns them.
func (s Selector) matchesLabels(index string) bool {
	return s.labels == nil || s.labels.Matches(rawLabels(index))
}

// labelMatcher is matchesLabels for a sequence of objects, where neighbours often have the same labels.
type labelMatcher struct {
	Selector
	last  string
	valid bool // match is the result for the last labels
	match bool
}

func (m *labelMatcher) matchesLabels(index string) bool {
	if m.labels == nil {
		return true
	}
	if !m.valid || m.last != index {
		m.last, m.valid, m.match = index, true, m.Selector.matchesLabels(index)
	}
	return m.match
}

// matchesNames reports whether the selector matches the name and the namespace in a key.
func (s Selector) matchesNames(key string) bool {
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

// matchesOwnName reports whether the selector matches the name in the object. It differs from the name in the key if
// admission has renamed an object that an apply or an update created. Only objects that matchesNames matches are read
// for it.
func (s Selector) matchesOwnName(record store.Record) bool {
	return !slices.ContainsFunc(s.names, func(r fields.Requirement) bool {
		return r.Field == "metadata.name" && !satisfies(r, metadata.Get(record.Value, "name").Str)
	})
}

// matchesInside reports whether the selector matches the other fields of a stored object. It reads them from the bytes
// if these are of the version and the codec can read them there, and otherwise from the decoded object.
func (s Selector) matchesInside(record store.Record) (bool, error) {
	asStored := s.version.Shows(record)
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

func (s Selector) matchesDecoded(record store.Record, requirements []fields.Requirement) (bool, error) {
	obj, err := s.decode(record)
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

// decode decodes a record, after its conversion if a webhook converts it.
func (s Selector) decode(record store.Record) (runtime.Object, error) {
	if s.version.Conversions == nil {
		return s.version.Codec.DecodeStored(record)
	}
	text, err := s.text(record)
	if err != nil {
		return nil, err
	}
	return s.version.Codec.DecodeAs(text)
}

// satisfies reports whether a value satisfies a requirement. Field selectors have two operators, equal and not equal.
func satisfies(r fields.Requirement, value string) bool {
	return (r.Value == value) == (r.Operator != selection.NotEquals)
}

// Labels returns the JSON of the labels of an encoded object. The store keeps it as the
// index of each record.
func Labels(text string) string { return metadata.Get(text, "labels").Raw }

// rawLabels are labels in their stored JSON. Each Lookup searches the JSON, because a selector asks for few labels. JSON
// escapes no character that a key or value of a label may have.
type rawLabels string

// Lookup implements labels.Labels.
func (l rawLabels) Lookup(label string) (value string, found bool) {
	rest := string(l)
	for {
		start := strings.Index(rest, label)
		if start < 0 {
			return "", false
		}
		after, isKey := strings.CutPrefix(rest[start+len(label):], `":"`)
		if isKey && start > 0 && rest[start-1] == '"' {
			end := strings.IndexByte(after, '"')
			return after[:max(end, 0)], end >= 0
		}
		rest = rest[start+len(label):]
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
