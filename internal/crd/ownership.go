package crd

import (
	"slices"
	"strings"
	"sync"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/json"
)

// ownership knows the outcome of field management for the writes that are most
// of all: a create, and an update by the one manager that owns everything. What
// a creator owns follows from the shape of the object, from which fields it has
// and not from their values, so the field manager needs to work it out once for
// each shape. Upstream's field manager takes a third of the time of a create.
//
// It is safe for concurrent use.
type ownership struct {
	mu     sync.Mutex
	shapes map[string]map[string]any // the fieldsV1 of who created an object of the shape; immutable
}

// maxShapes bounds how many shapes are known; then they are learned anew.
const maxShapes = 512

func (o *ownership) of(shape string) (map[string]any, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fields, ok := o.shapes[shape]
	return fields, ok
}

func (o *ownership) learn(shape string, fields map[string]any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shapes == nil || len(o.shapes) >= maxShapes {
		o.shapes = map[string]map[string]any{}
	}
	o.shapes[shape] = fields
}

// ManageFields implements resource.FieldShortcut.
func (c *codec) ManageFields(obj, current runtime.Object, manager string, now metav1.Time) (learn func(runtime.Object), done bool) {
	u := obj.(*unstructured.Unstructured)
	metadata, _ := u.Object["metadata"].(map[string]any)
	if manager == "" || metadata == nil || u.GetAPIVersion() != c.kind.GroupVersion().String() {
		return nil, false
	}
	shape, ok := c.shapeOf(u)
	if !ok {
		return nil, false
	}
	if current != nil {
		return nil, c.keepOwner(u, current.(*unstructured.Unstructured), metadata, shape, manager, now)
	}
	if _, claimed := metadata["managedFields"]; claimed {
		return nil, false
	}
	if fields, known := c.owned.of(shape); known {
		metadata["managedFields"] = []any{c.entry(manager, fields, now)}
		return nil, true
	}
	return func(managed runtime.Object) {
		if fields, ok := soleOwner(managed, c.kind.GroupVersion().String(), manager); ok {
			c.owned.learn(shape, fields)
		}
	}, false
}

func (c *codec) entry(manager string, fields map[string]any, now metav1.Time) map[string]any {
	return map[string]any{
		"apiVersion": c.kind.GroupVersion().String(), "fieldsType": "FieldsV1", "fieldsV1": fields,
		"manager": manager, "operation": string(metav1.ManagedFieldsOperationUpdate), "time": now.UTC().Format("2006-01-02T15:04:05Z"),
	}
}

// keepOwner manages the fields of an update by whoever owns all there is: it goes
// on owning it. It leaves alone what adds or takes away fields.
func (c *codec) keepOwner(u, was *unstructured.Unstructured, metadata map[string]any, shape, manager string, now metav1.Time) bool {
	before, _ := was.Object["metadata"].(map[string]any)
	if claimed, ok := metadata["managedFields"]; ok && !json.Equal(claimed, before["managedFields"]) {
		return false
	}
	fields, ok := soleOwner(was, c.kind.GroupVersion().String(), manager)
	if !ok {
		return false
	}
	if shapeBefore, ok := c.shapeOf(was); !ok || shapeBefore != shape {
		return false
	}
	known, ok := c.owned.of(shape)
	if !ok || !json.Equal(known, fields) {
		return false
	}
	if sameFields(u.Object, was.Object) {
		metadata["managedFields"] = before["managedFields"]
	} else {
		metadata["managedFields"] = []any{c.entry(manager, known, now)}
	}
	return true
}

// soleOwner is what an object's only manager owns, if it is that manager.
func soleOwner(obj runtime.Object, apiVersion, manager string) (map[string]any, bool) {
	metadata, _ := obj.(*unstructured.Unstructured).Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	if len(entries) != 1 {
		return nil, false
	}
	entry, _ := entries[0].(map[string]any)
	fields, ok := entry["fieldsV1"].(map[string]any)
	return fields, ok && len(entry) == 6 && entry["manager"] == manager && entry["operation"] == "Update" &&
		entry["apiVersion"] == apiVersion && entry["subresource"] == nil
}

// unmanaged is the metadata that has no manager.
var unmanaged = map[string]bool{
	"name": true, "namespace": true, "creationTimestamp": true, "selfLink": true, "uid": true,
	"clusterName": true, "generation": true, "managedFields": true, "resourceVersion": true,
}

// sameFields tells whether two objects of the same shape have the same values
// where they are managed.
func sameFields(is, was map[string]any) bool {
	for key, value := range is {
		if key != "metadata" {
			if !json.Equal(value, was[key]) {
				return false
			}
			continue
		}
		before, _ := was[key].(map[string]any)
		for name, v := range value.(map[string]any) {
			if !unmanaged[name] && !json.Equal(v, before[name]) {
				return false
			}
		}
	}
	return true
}

// shapeOf spells the fields that an object has. It gives up on lists that are
// merged by key or value: what is owned in them are values.
func (c *codec) shapeOf(u *unstructured.Unstructured) (string, bool) {
	s := shaper{text: make([]byte, 0, 256)}
	ok := s.object(u.Object, c.schemas[c.kind.Version].merged, true)
	return string(s.text), ok
}

type shaper struct{ text []byte }

func (s *shaper) object(m map[string]any, merged *mergedLists, root bool) bool {
	s.text = append(s.text, '{')
	for _, key := range sortedKeys(m) {
		if strings.IndexByte(key, 0) >= 0 {
			return false // one shape could be spelled like another
		}
		s.text = append(append(s.text, key...), 0)
		if root && key == "metadata" {
			if !s.metadata(m[key]) {
				return false
			}
			continue
		}
		if !s.value(m[key], merged.of(key)) {
			return false
		}
	}
	s.text = append(s.text, '}')
	return true
}

// mergedLists marks the lists of a schema that are merged by key or value. A nil
// one marks none.
type mergedLists struct {
	list       bool
	properties map[string]*mergedLists
	additional *mergedLists
}

// newMergedLists is nil where there is nothing to mark.
func newMergedLists(s *structuralschema.Structural) *mergedLists {
	if s == nil {
		return nil
	}
	m := &mergedLists{list: s.XListType != nil && *s.XListType != "atomic"}
	if s.AdditionalProperties != nil {
		m.additional = newMergedLists(s.AdditionalProperties.Structural)
	}
	for name, property := range s.Properties {
		if marked := newMergedLists(&property); marked != nil {
			if m.properties == nil {
				m.properties = map[string]*mergedLists{}
			}
			m.properties[name] = marked
		}
	}
	if !m.list && m.additional == nil && m.properties == nil {
		return nil
	}
	return m
}

func (m *mergedLists) of(key string) *mergedLists {
	if m == nil {
		return nil
	}
	if p, ok := m.properties[key]; ok {
		return p
	}
	return m.additional
}

func (s *shaper) value(v any, merged *mergedLists) bool {
	switch v := v.(type) {
	case map[string]any:
		return s.object(v, merged, false)
	case []any:
		if merged != nil && merged.list {
			return false
		}
		if len(v) == 0 {
			s.text = append(s.text, '0')
		} else {
			s.text = append(s.text, '1')
		}
	case nil:
		s.text = append(s.text, 'n')
	default:
		s.text = append(s.text, 's')
	}
	return true
}

// metadata spells labels and annotations; of other managed metadata it knows
// nothing.
func (s *shaper) metadata(v any) bool {
	m, ok := v.(map[string]any)
	for _, key := range sortedKeys(m) {
		switch {
		case unmanaged[key]:
		case key == "labels" || key == "annotations":
			texts, isMap := m[key].(map[string]any)
			_, applied := texts["kubectl.kubernetes.io/last-applied-configuration"]
			s.text = append(append(s.text, key...), 0)
			ok = ok && isMap && !applied && s.object(texts, nil, false)
		default:
			return false
		}
	}
	return ok
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
