package schema

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/json"
)

// Action is a change that a walk makes to an object.
type Action uint8

// The actions, in upstream's order. Upstream walks over the object once for each.
const (
	// Prune drops unknown fields, as pruning.Prune does.
	Prune Action = 1 << iota
	// DropNulls drops nulls where the schema neither allows them nor has a default, as
	// defaulting.PruneNonNullableNullsWithoutDefaults does.
	DropNulls
	// Default fills in the defaults, as defaulting.Default does.
	Default
)

// Walk configures a walk over a whole object.
type Walk struct {
	// Do are the changes to make to the object, in place.
	Do Action
	// Check are the facts to find out.
	Check Facts
	// TrackUnknown collects the paths of the fields that are pruned.
	TrackUnknown bool

	// Verified are facts that are known to hold. The walk does not check them again, and does not look for missing
	// defaults in complete parts.
	Verified Parts
	// Like is an object that the same schema has normalized, or nil. LikeVerified also holds for the parts that the
	// object shares with it: the same maps and lists, and equal scalars. The walk does not alter Like: it copies shared
	// parts before it changes them.
	Like         map[string]any
	LikeVerified Parts
}

// Result is the outcome of a walk over an object.
type Result struct {
	// Facts are those of the object as a whole.
	Facts
	// Parts are the facts of its parts.
	Parts Parts
	// Changed: the object was altered.
	Changed bool
	// TooManyDefaults: more than MaxDefaults bytes of defaults were missing, and the walk has stopped filling them in.
	TooManyDefaults bool
	// Unknown are the sorted paths of the pruned fields, if Walk.TrackUnknown is set.
	Unknown []string
}

// walker is one walk over an object.
type walker struct {
	track    bool  // note the unknown fields
	verified Facts // of the part that the object shares with Like, at the current path
	path     []string
	room     [24]string // for the path, nearly always
	unknown  []string
	changed  bool
	filled   int // bytes of defaults
}

// Normalize walks over a whole object, prunes it and fills in its defaults. It never prunes apiVersion, kind and
// metadata.
func (n *Node) Normalize(obj map[string]any, k Walk) Result {
	w := &walker{track: k.TrackUnknown}
	w.path = w.room[:0]
	below := n.within(k.Check)
	facts, parts := k.Check, Parts{below, below}
	if n.Embedded && facts&EmbeddedCanonical != 0 && !isCanonicalResource(obj) {
		facts &^= EmbeddedCanonical
	}
	for name, value := range obj {
		verified := k.Verified.factsOf(name)
		w.verified = k.LikeVerified.factsOf(name)
		do, check := k.Do, below&^verified
		if isOfEveryResource(name) {
			do, check = do&^Prune, check&^Pruned
		}
		if verified&Complete != 0 {
			do &^= DropNulls | Default
		}
		lost := check &^ w.field(n, obj, name, value, k.Like[name], do, check, n.PreserveUnknown)
		parts.clear(name, lost)
		facts &^= lost
	}
	missing := func(name string, lost Facts) { parts.clear(name, lost) }
	facts = w.complete(n, obj, k.Do, facts, below, missing)
	slices.Sort(w.unknown)
	return Result{n.asWhole(obj, facts), parts, w.changed, w.filled > MaxDefaults, w.unknown}
}

// Inspect returns those of the facts that hold for a value of the node.
func (n *Node) Inspect(value any, check Facts) Facts {
	if n == nil {
		return check
	}
	return new(walker).value(n, value, nil, 0, check, false)
}

// hasWork reports whether there is something to do or to check below a node.
func (n *Node) hasWork(do Action, check Facts) bool {
	return do&(Prune|DropNulls) != 0 || check&(Valid|Pruned) != 0 ||
		check&Complete != 0 || do&Default != 0 && n.below.defaults ||
		check&Distinct != 0 && n.below.lists ||
		check&(EmbeddedCanonical|EmbeddedValid) != 0 && n.below.embedded
}

// value walks over a value; like is the value at the same path of the other object. The caller handles nulls. If a list
// preserves unknown fields, so do its items.
func (w *walker) value(n *Node, value, like any, do Action, check Facts, preserve bool) Facts {
	switch v := value.(type) {
	case map[string]any:
		like, _ := like.(map[string]any)
		return w.fields(n, v, like, do, check, preserve || n.PreserveUnknown)
	case []any:
		return w.items(n, v, do, check, preserve || n.PreserveUnknown)
	}
	return check &^ n.violated(value, check)
}

// violated returns the facts that do not hold for a value, apart from the values in it.
func (n *Node) violated(value any, check Facts) Facts {
	if check&Valid == 0 || n.keywords == nil {
		return 0
	}
	got := valid
	if n.apart {
		got = n.keywords.evaluate(value)
	} else {
		got = n.keywords.own(value)
	}
	if got != valid {
		return Valid
	}
	return 0
}

// within returns the facts to check for the values in a value of the node.
func (n *Node) within(check Facts) Facts {
	if n.apart {
		return check &^ Valid
	}
	return check
}

// fields walks over the fields of an object. It prunes neither apiVersion, kind and metadata of a resource nor anything
// in them.
func (w *walker) fields(n *Node, obj, like map[string]any, do Action, check Facts, preserve bool) Facts {
	facts, below := check, n.within(check)
	if n.Embedded && check&EmbeddedCanonical != 0 && !isCanonicalResource(obj) {
		facts &^= EmbeddedCanonical
	}
	for name, value := range obj {
		act, ask := do, below
		if n.Embedded && isOfEveryResource(name) {
			act, ask = act&^Prune, ask&^Pruned
		}
		facts &^= ask &^ w.field(n, obj, name, value, like[name], act, ask, preserve)
	}
	return n.asWhole(obj, w.complete(n, obj, do, facts, below, nil))
}

// field walks over one field of an object, and returns the facts that hold for it.
func (w *walker) field(n *Node, obj map[string]any, name string, value, like any, do Action, check Facts, preserve bool) Facts {
	shared, others := Facts(0), false // others: the value also belongs to the other object, and may have to change
	if like != nil && json.Same(value, like) {
		if do == 0 || w.verified&Complete != 0 {
			do, shared = 0, w.verified
		} else {
			others = true
		}
	}
	own := func() {
		if others {
			value, like = runtime.DeepCopyJSONValue(value), nil
			obj[name] = value
		}
	}
	node, named := n.Properties[name]
	switch {
	case named:
	case n.Additional != nil:
		node = n.Additional
	case n.anyFields:
		if do&Prune != 0 {
			own()
			w.empty(name, value)
		} else if hasFields(value) {
			check &^= Pruned
		}
		return check
	case preserve:
		return check
	case do&Prune != 0:
		w.unknownField(name)
		delete(obj, name)
		w.changed = true
		return check
	default:
		return check &^ Pruned
	}
	facts := check
	check &^= shared
	if value == nil && !node.Nullable {
		switch {
		case node.Default == nil && do&DropNulls != 0:
			delete(obj, name)
			w.changed = true
			return facts
		case node.Default != nil && do&Default != 0 && w.mayFill(name, node):
			value, do = w.defaultOf(node), Default
			obj[name] = value
		default:
			facts &^= Complete
		}
	}
	switch value.(type) {
	case map[string]any, []any:
		if node.hasWork(do, check) {
			own()
			length := w.enter(name)
			facts &^= check &^ w.value(node, value, like, do, check, false)
			w.path = w.path[:length]
		}
	default:
		facts &^= node.violated(value, check)
	}
	return facts
}

// complete fills in the defaults of missing fields if it is to, and returns the facts that still hold. For a whole
// object, it calls lost with each such field and the facts that do not hold for its default; lost is nil for other
// objects.
func (w *walker) complete(n *Node, obj map[string]any, do Action, facts, below Facts, lost func(string, Facts)) Facts {
	if do&Default == 0 && below&Complete == 0 {
		return facts
	}
	for _, name := range n.defaults {
		if _, ok := obj[name]; ok {
			continue
		}
		ask := below
		if isOfEveryResource(name) && (n.Embedded || lost != nil) {
			ask &^= Pruned
		}
		asked := ask &^ Complete
		if node := n.Properties[name]; do&Default != 0 && w.mayFill(name, node) {
			value := w.defaultOf(node)
			obj[name] = value
			asked = w.value(node, value, nil, Default, ask, false)
		}
		if lost != nil {
			lost(name, ask&^asked)
		}
		facts &^= ask &^ asked
	}
	return facts
}

// asWhole returns the facts that still hold by the rules for the object as a whole.
func (n *Node) asWhole(obj map[string]any, facts Facts) Facts {
	facts &^= n.violated(obj, facts)
	if facts&Distinct != 0 && n.below.mixed && n.below.lists {
		facts &^= Distinct // upstream checks such fields by both of their schemas
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
func (w *walker) items(n *Node, list []any, do Action, check Facts, preserve bool) Facts {
	facts, below := check, n.within(check)
	for i, item := range list {
		act := do
		if n.Items == nil {
			if act&Prune != 0 && !preserve {
				w.emptyItem(i, item)
			} else if !preserve && hasFields(item) {
				facts &^= Pruned
			}
			continue
		}
		if item == nil && !n.Items.Nullable && n.Items.Default != nil {
			if act&Default != 0 && w.mayFill("", n.Items) {
				item, act = w.defaultOf(n.Items), Default
				list[i] = item
			} else {
				facts &^= Complete
			}
		}
		switch item.(type) {
		case map[string]any, []any:
			if n.Items.hasWork(act, below) {
				length := w.enterItem(i)
				facts &^= below &^ w.value(n.Items, item, nil, act, below, preserve)
				w.path = w.path[:length]
			}
		default:
			facts &^= n.Items.violated(item, below)
		}
	}
	facts &^= n.violated(list, facts)
	if n.List != Atomic && facts&Distinct != 0 && !n.areDistinct(list) {
		facts &^= Distinct
	}
	return facts
}

func (w *walker) defaultOf(n *Node) any {
	w.changed = true
	return runtime.DeepCopyJSONValue(n.Default)
}

// empty drops all fields of an object without a schema, and of the objects in a list.
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

// hasFields reports whether emptyValue would drop a field.
func hasFields(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return slices.ContainsFunc(v, hasFields)
	}
	return false
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

// unknownField records the path of a field that is pruned.
func (w *walker) unknownField(name string) {
	if !w.track {
		return
	}
	length := w.enter(name)
	w.unknown = append(w.unknown, strings.Join(w.path, ""))
	w.path = w.path[:length]
}
