package schema

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Facts are what is known of an object, or a part of it, in which the schema finds
// nothing to change. Each says that upstream's library would not complain; one that is
// missing says nothing.
type Facts uint8

// The facts.
const (
	// Valid says that validation by the schema accepts the value, also as an update of
	// any other.
	Valid Facts = 1 << iota
	// Distinct says that no set has a value twice, and no list that is a map a key.
	Distinct
	// EmbeddedCanonical says that reading the metadata of embedded resources and
	// writing it back changes nothing.
	EmbeddedCanonical
	// EmbeddedValid says that the embedded resources have an apiVersion, a kind and
	// valid metadata.
	EmbeddedValid

	All = Valid | Distinct | EmbeddedCanonical | EmbeddedValid
)

// Has tells whether all of the facts are among these.
func (f Facts) Has(facts Facts) bool { return f&facts == facts }

// Action is what a walk does to an object.
type Action uint8

// The actions, in the order of upstream, which walks over the object for each.
const (
	// Prune drops the fields that the schema does not know, as pruning.Prune.
	Prune Action = 1 << iota
	// DropNulls drops the nulls that may neither be nor become a default, as
	// defaulting.PruneNonNullableNullsWithoutDefaults.
	DropNulls
	// Default fills in the defaults, as defaulting.Default.
	Default
)

// walker is one walk over an object.
type walker struct {
	track   bool // note the unknown fields
	path    []string
	room    [24]string // for the path, nearly always
	unknown []string
	changed bool
}

// Settled is what Settle made of an object and found out about it.
type Settled struct {
	Facts
	// Changed says that the object was altered.
	Changed bool
	// Unknown are the paths of the fields that were pruned, sorted, if they were to be
	// tracked.
	Unknown []string
}

// Settle does the actions to a whole object, in place, and finds out the facts that it
// is asked for. Fields named apiVersion, kind and metadata are never pruned from it.
func (n *Node) Settle(obj map[string]any, actions Action, trackUnknown bool, ask Facts) Settled {
	w := &walker{track: trackUnknown}
	w.path = w.room[:0]
	facts := w.fields(n, obj, actions, ask, true, n.PreserveUnknown)
	slices.Sort(w.unknown)
	return Settled{facts, w.changed, w.unknown}
}

// Inspect finds out the facts that it is asked for, of a value of the node.
func (n *Node) Inspect(value any, ask Facts) Facts {
	if n == nil {
		return ask
	}
	return new(walker).value(n, value, 0, ask, false)
}

// concerns tells whether there is something to do or to ask below a node.
func (n *Node) concerns(do Action, ask Facts) bool {
	return do&(Prune|DropNulls) != 0 || ask&Valid != 0 ||
		do&Default != 0 && n.below.defaults ||
		ask&Distinct != 0 && n.below.lists ||
		ask&(EmbeddedCanonical|EmbeddedValid) != 0 && n.below.embedded
}

// value walks over a value. What becomes of a null is decided where it stands. The items
// of a list that preserves unknown fields do so, too.
func (w *walker) value(n *Node, value any, do Action, ask Facts, preserve bool) Facts {
	switch v := value.(type) {
	case map[string]any:
		return w.fields(n, v, do, ask, n.Embedded, preserve || n.PreserveUnknown)
	case []any:
		return w.items(n, v, do, ask, preserve || n.PreserveUnknown)
	}
	return ask &^ n.doubts(value, ask)
}

// doubts are the facts that what the node says of the value itself does not bear out.
func (n *Node) doubts(value any, ask Facts) Facts {
	if ask&Valid == 0 || n.keywords == nil {
		return 0
	}
	told := valid
	if n.apart {
		told = n.keywords.judge(value)
	} else {
		told = n.keywords.own(value)
	}
	if told != valid {
		return Valid
	}
	return 0
}

// within is what there is to ask about the values in one of the node.
func (n *Node) within(ask Facts) Facts {
	if n.apart {
		return ask &^ Valid
	}
	return ask
}

// fields walks over the fields of an object. Those that every resource has are not
// pruned, nor is anything in them.
func (w *walker) fields(n *Node, obj map[string]any, do Action, ask Facts, resource, preserve bool) Facts {
	facts, below := ask, n.within(ask)
	if n.Embedded && ask&EmbeddedCanonical != 0 && !isCanonicalResource(obj) {
		facts &^= EmbeddedCanonical
	}
	for name, value := range obj {
		act := do
		if resource && isOfEveryResource(name) {
			act &^= Prune
		}
		of, named := n.Properties[name]
		switch {
		case named:
		case n.Additional != nil:
			of = n.Additional
		case n.anyFields:
			if act&Prune != 0 {
				w.empty(name, value)
			}
			continue
		default:
			if act&Prune != 0 && !preserve {
				w.unknownField(name)
				delete(obj, name)
				w.changed = true
			}
			continue
		}
		if value == nil && !of.Nullable {
			if of.Default == nil && act&DropNulls != 0 {
				delete(obj, name)
				w.changed = true
				continue
			}
			if of.Default != nil && act&Default != 0 {
				value, act = w.defaultOf(of), Default
				obj[name] = value
			}
		}
		switch value.(type) {
		case map[string]any, []any:
			if of.concerns(act, below) {
				length := w.enter(name)
				facts &= w.value(of, value, act, below, false)
				w.path = w.path[:length]
			}
		default:
			facts &^= of.doubts(value, below)
		}
	}
	if do&Default != 0 {
		for _, name := range n.defaults {
			if _, ok := obj[name]; !ok {
				of := n.Properties[name]
				value := w.defaultOf(of)
				obj[name] = value
				facts &= w.value(of, value, Default, below, false)
			}
		}
	}
	facts &^= n.doubts(obj, facts)
	if facts&Distinct != 0 && n.below.mixed && n.below.lists {
		facts &^= Distinct // upstream judges such fields by both of their schemas
	}
	if n.Embedded && facts&EmbeddedValid != 0 && !isValidResource(obj) {
		facts &^= EmbeddedValid
	}
	return facts
}

func isOfEveryResource(field string) bool {
	return field == "apiVersion" || field == "kind" || field == "metadata"
}

// items walks over the items of a list.
func (w *walker) items(n *Node, list []any, do Action, ask Facts, preserve bool) Facts {
	facts, below := ask, n.within(ask)
	for i, item := range list {
		act := do
		if n.Items == nil {
			if act&Prune != 0 && !preserve {
				w.emptyItem(i, item)
			}
			continue
		}
		if item == nil && !n.Items.Nullable && n.Items.Default != nil && act&Default != 0 {
			item, act = w.defaultOf(n.Items), Default
			list[i] = item
		}
		switch item.(type) {
		case map[string]any, []any:
			if n.Items.concerns(act, below) {
				length := w.enterItem(i)
				facts &= w.value(n.Items, item, act, below, preserve)
				w.path = w.path[:length]
			}
		default:
			facts &^= n.Items.doubts(item, below)
		}
	}
	facts &^= n.doubts(list, facts)
	if n.List != Atomic && facts&Distinct != 0 && !n.areDistinct(list) {
		facts &^= Distinct
	}
	return facts
}

func (w *walker) defaultOf(n *Node) any {
	w.changed = true
	return runtime.DeepCopyJSONValue(n.Default)
}

// empty drops all fields of an object that has no schema, and of those in a list.
func (w *walker) empty(name string, value any) {
	length := w.enter(name)
	w.emptyValue(value)
	w.path = w.path[:length]
}

func (w *walker) emptyItem(i int, item any) {
	length := w.enterItem(i)
	w.emptyValue(item)
	w.path = w.path[:length]
}

func (w *walker) emptyValue(value any) {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			w.unknownField(name)
			w.changed = true
		}
		clear(v)
	case []any:
		for i, item := range v {
			w.emptyItem(i, item)
		}
	}
}

// enter adds a field to the path, and returns the length that it had before.
func (w *walker) enter(name string) int {
	length := len(w.path)
	if w.track {
		if length > 0 {
			w.path = append(w.path, ".")
		}
		w.path = append(w.path, name)
	}
	return length
}

// enterItem adds an item to the path.
func (w *walker) enterItem(i int) int {
	length := len(w.path)
	if w.track {
		w.path = append(w.path, "[", strconv.Itoa(i), "]")
	}
	return length
}

// unknownField notes the path of a field that is pruned.
func (w *walker) unknownField(name string) {
	if !w.track {
		return
	}
	length := w.enter(name)
	w.unknown = append(w.unknown, strings.Join(w.path, ""))
	w.path = w.path[:length]
}
