package fields

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/metadata"
)

// The operations of managers.
const (
	Apply  = "Apply"
	Update = "Update"
)

// Managed has the owners of the fields of one object, in the order of
// metadata.managedFields. It is immutable.
type Managed struct {
	entries []*entry

	// metadata.managedFields of an object that is a tree, or of one with a Go type.
	tree []any
	list []metav1.ManagedFieldsEntry
}

// NoManagers is the Managed of an object without managers.
var NoManagers = &Managed{}

// entry has the fields of one manager. It is immutable.
type entry struct {
	manager, operation, apiVersion, subresource string

	time string // in JSON; empty: unknown
	set  *Set

	tree   map[string]any             // in metadata.managedFields; nil: not created yet
	fields map[string]any             // fieldsV1 of it
	listed *metav1.ManagedFieldsEntry // in metadata.managedFields of a Go type; nil: not created yet
	text   string                     // fieldsV1 of it
	// reconciled is the tree for which reconcile does not change the set.
	reconciled *Tree
}

// forget drops the encodings of an entry whose set has changed.
func (e *entry) forget() { e.tree, e.fields, e.listed, e.text = nil, nil, nil, "" }

// isOf reports whether two entries belong to the same owner, which has only one entry. An applier has one entry for all
// versions.
func (e *entry) isOf(o *entry) bool {
	return e.manager == o.manager && e.operation == o.operation && e.subresource == o.subresource &&
		(e.operation == Apply || e.apiVersion == o.apiVersion)
}

// ParseManaged parses the JSON tree of metadata.managedFields. It keeps the tree, so the caller must not alter it
// afterwards. ok is false if upstream might reject the tree.
func ParseManaged(tree []any) (m *Managed, ok bool) {
	if len(tree) == 0 {
		return NoManagers, true
	}
	m = &Managed{entries: make([]*entry, 0, len(tree)), tree: tree}
	for _, value := range tree {
		e, canonical, ok := parseEntry(value)
		if !ok || slices.ContainsFunc(m.entries, e.isOf) {
			return nil, false
		}
		if !canonical {
			e.tree, e.fields, m.tree = nil, nil, nil
		}
		m.entries = append(m.entries, e)
	}
	if m.tree == nil || !slices.IsSortedFunc(m.entries, compareEntries) {
		m = newManaged(m.entries, false)
	}
	return m, true
}

func parseEntry(value any) (e *entry, canonical, ok bool) {
	tree, ok := value.(map[string]any)
	if !ok {
		return nil, false, false
	}
	e = &entry{tree: tree}
	fieldsType := ""
	for name, v := range tree {
		to := &fieldsType
		switch name {
		case "manager":
			to = &e.manager
		case "operation":
			to = &e.operation
		case "apiVersion":
			to = &e.apiVersion
		case "subresource":
			to = &e.subresource
		case "time":
			to = &e.time
		case "fieldsType":
		case "fieldsV1":
			if e.fields, ok = v.(map[string]any); !ok {
				return nil, false, false
			}
			continue
		default:
			return nil, false, false
		}
		if *to, ok = v.(string); !ok || *to == "" || !utf8.ValidString(*to) {
			return nil, false, false
		}
	}
	if e.operation != Apply && e.operation != Update || e.apiVersion == "" || fieldsType != "FieldsV1" || e.time != "" && !metadata.IsTime(e.time) {
		return nil, false, false
	}
	canonical = e.fields != nil
	if len(e.fields) > 0 {
		var exact, ok bool
		if e.set, exact, ok = parseSet(e.fields); !ok || ownsServerMade(e.set) {
			return nil, false, false
		}
		canonical = exact
	}
	return e, canonical, true
}

// ownsServerMade reports whether a set has fields that walks leave out. Only managedFields of a client can contain such
// a set.
func ownsServerMade(s *Set) bool {
	for _, n := range s.list() {
		if n.item != nil {
			break
		}
		switch n.name() {
		case "apiVersion", "kind":
			return true
		case "metadata":
			if n.member || slices.ContainsFunc(n.below.list(), func(n node) bool { return n.item == nil && isServerMade(n.name()) }) {
				return true
			}
		}
	}
	return false
}

// compareEntries compares entries in the order of metadata.managedFields.
func compareEntries(a, b *entry) int {
	return cmp.Or(strings.Compare(a.operation, b.operation), strings.Compare(a.time, b.time), strings.Compare(a.manager, b.manager),
		strings.Compare(a.apiVersion, b.apiVersion), strings.Compare(a.subresource, b.subresource))
}

// newManaged returns the Managed of entries. It keeps and sorts the slice.
func newManaged(entries []*entry, listed bool) *Managed {
	if len(entries) == 0 {
		return NoManagers
	}
	slices.SortFunc(entries, compareEntries)
	m := &Managed{entries: entries}
	if listed {
		m.makeList()
		return m
	}
	m.tree = make([]any, len(entries))
	for i, e := range entries {
		if e.tree == nil {
			e.makeTree()
		}
		m.tree[i] = e.tree
	}
	return m
}

// isMade reports whether the list or the tree has been created.
func (m *Managed) isMade(listed bool) bool {
	if listed {
		return m.list != nil
	}
	return m.tree != nil
}

func (e *entry) makeTree() {
	if e.fields == nil {
		e.fields = e.set.tree()
	}
	e.tree = make(map[string]any, 7)
	e.tree["apiVersion"] = e.apiVersion
	e.tree["fieldsType"] = "FieldsV1"
	e.tree["fieldsV1"] = e.fields
	e.tree["operation"] = e.operation
	if e.manager != "" {
		e.tree["manager"] = e.manager
	}
	if e.time != "" {
		e.tree["time"] = e.time
	}
	if e.subresource != "" {
		e.tree["subresource"] = e.subresource
	}
}

// Tree returns the JSON tree of metadata.managedFields; nil: none. The tree is shared and must not be altered.
func (m *Managed) Tree() []any { return m.tree }

// Before returns the owners from which an update starts: those in the object of the request, if it has any, or else
// those of the live object. ok is as in ParseManaged.
func (e *Engine) Before(obj map[string]any, managed *Managed) (m *Managed, ok bool) {
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		return nil, false
	}
	claimed, ok := metadata["managedFields"].([]any)
	if !ok || e.Subresource != "" {
		return managed, true
	}
	if len(claimed) == 0 {
		return NoManagers, true
	}
	if len(claimed) == 1 {
		if first, ok := claimed[0].(map[string]any); ok && len(first) == 0 {
			return NoManagers, true
		}
	}
	if managed.Is(claimed) {
		return managed, true
	}
	return ParseManaged(claimed)
}

// Is reports whether a JSON tree of metadata.managedFields has these owners. It is fast for the identical tree.
func (m *Managed) Is(tree []any) bool {
	return m.IsTree(tree) || len(tree) == len(m.tree) && json.SemanticallyEqual(tree, m.tree)
}

// IsTree reports whether a JSON tree of metadata.managedFields consists of the identical entries.
func (m *Managed) IsTree(tree []any) bool {
	return slices.EqualFunc(m.tree, tree, func(a, b any) bool {
		first, ok1 := a.(map[string]any)
		second, ok2 := b.(map[string]any)
		return ok1 && ok2 && json.IsSameMap(first, second)
	})
}

// AreIn reports whether all entries have an apiVersion.
func (m *Managed) AreIn(apiVersion string) bool {
	return !slices.ContainsFunc(m.entries, func(e *entry) bool { return e.apiVersion != apiVersion })
}

// IsEmpty reports whether there are no owners.
func (m *Managed) IsEmpty() bool { return len(m.entries) == 0 }
