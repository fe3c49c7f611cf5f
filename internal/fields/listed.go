package fields

import (
	"bytes"
	"slices"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/metadata"
)

// ParseList parses metadata.managedFields of an object with a Go type. It keeps the list, so the caller must not alter
// it afterwards. ok is as in ParseManaged.
func ParseList(list []metav1.ManagedFieldsEntry) (m *Managed, ok bool) {
	if len(list) == 0 {
		return NoManagers, true
	}
	m = &Managed{entries: make([]*entry, 0, len(list)), list: list}
	for i := range list {
		e, canonical, ok := parseListed(&list[i])
		if !ok || slices.ContainsFunc(m.entries, e.isOf) {
			return nil, false
		}
		if !canonical {
			e.listed, m.list = nil, nil
		}
		m.entries = append(m.entries, e)
	}
	if m.list == nil || !slices.IsSortedFunc(m.entries, compareEntries) {
		m = newManaged(m.entries, true)
	}
	return m, true
}

func parseListed(listed *metav1.ManagedFieldsEntry) (e *entry, canonical, ok bool) {
	e = &entry{manager: listed.Manager, operation: string(listed.Operation), apiVersion: listed.APIVersion, subresource: listed.Subresource, listed: listed}
	if e.operation != Apply && e.operation != Update || e.apiVersion == "" || listed.FieldsType != "FieldsV1" || !utf8.ValidString(e.manager) {
		return nil, false, false
	}
	if listed.Time != nil {
		if e.time = listed.Time.UTC().Format(time.RFC3339); listed.Time.IsZero() || !metadata.IsTime(e.time) {
			return nil, false, false
		}
	}
	if listed.FieldsV1 == nil {
		return e, false, true
	}
	raw := listed.FieldsV1.GetRawBytes()
	tree, plain := json.Decode(string(raw))
	if !plain {
		var v any
		if err := utiljson.Unmarshal(raw, &v); err != nil {
			return nil, false, false
		}
		if tree, ok = v.(map[string]any); !ok {
			return nil, false, false
		}
	}
	if len(tree) > 0 {
		if e.set, _, ok = parseSet(tree); !ok || ownsServerMade(e.set) {
			return nil, false, false
		}
	}
	text, err := e.set.appendJSON(nil)
	if err != nil {
		return nil, false, false
	}
	e.text = string(text)
	return e, bytes.Equal(text, raw), true
}

// makeList creates the list. Unchanged entries keep their part.
func (m *Managed) makeList() {
	m.list = make([]metav1.ManagedFieldsEntry, len(m.entries))
	for i, e := range m.entries {
		if e.listed == nil {
			e.makeListed()
		}
		m.list[i] = *e.listed
	}
}

func (e *entry) makeListed() {
	if e.text == "" {
		if text, err := e.set.appendJSON(make([]byte, 0, 512)); err == nil {
			e.text = string(text)
		}
	}
	e.listed = &metav1.ManagedFieldsEntry{
		Manager: e.manager, Operation: metav1.ManagedFieldsOperationType(e.operation), APIVersion: e.apiVersion, Subresource: e.subresource,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(e.text),
	}
	if t, err := time.Parse(time.RFC3339, e.time); err == nil && e.time != "" {
		local := metav1.NewTime(t.Local()) // as decoding does
		e.listed.Time = &local
	}
}

// List returns metadata.managedFields of an object with a Go type; nil: none. The caller may alter the list, but not
// what its entries point to, which is shared.
func (m *Managed) List() []metav1.ManagedFieldsEntry { return slices.Clone(m.list) }

// IsList reports whether a list has these owners. It may return false for an equivalent list in another form.
func (m *Managed) IsList(list []metav1.ManagedFieldsEntry) bool {
	return slices.EqualFunc(m.list, list, func(a, b metav1.ManagedFieldsEntry) bool {
		return a.Manager == b.Manager && a.Operation == b.Operation && a.APIVersion == b.APIVersion && a.Subresource == b.Subresource &&
			a.FieldsType == b.FieldsType && a.Time.Equal(b.Time) && isSameFields(a.FieldsV1, b.FieldsV1)
	})
}

func isSameFields(a, b *metav1.FieldsV1) bool {
	return a == b || a != nil && b != nil && a.Equal(*b)
}

// BeforeList is Before for an object with a Go type and these metadata.managedFields.
func (e *Engine) BeforeList(claimed []metav1.ManagedFieldsEntry, managed *Managed) (m *Managed, ok bool) {
	switch {
	case claimed == nil || e.Subresource != "" || len(claimed) > 0 && managed.IsList(claimed):
		return managed, true
	case len(claimed) == 0 || len(claimed) == 1 && claimed[0] == (metav1.ManagedFieldsEntry{}):
		return NoManagers, true
	}
	return ParseList(claimed)
}
