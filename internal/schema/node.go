package schema

// Node is the schema of one value: an object, a field, an item of a list or a value of a
// map. A nil *Node allows any value.
//
// A tree may refer to itself only through Items, Additional or Properties of types that
// Kubernetes' own kinds have (JSONSchemaProps); walks follow the value, so they end.
type Node struct {
	// Type is "object", "array", "string", "integer", "number", "boolean" or empty: any.
	Type string
	// IntOrString values are integers or strings, regardless of Type.
	IntOrString bool
	// Nullable values may be null.
	Nullable bool

	// Properties are the fields with names of their own.
	Properties map[string]*Node
	// Additional is the schema of the other fields; nil: there is none.
	Additional *Node
	// Items is the schema of the items of a list; nil: there is none.
	Items *Node

	// PreserveUnknown keeps fields without a schema.
	PreserveUnknown bool
	// Embedded values are whole resources with apiVersion, kind and metadata.
	Embedded bool

	// Default is what a missing value becomes, as JSON values (map[string]any, []any,
	// string, int64, float64, bool). It is shared and must not be altered. Nil: there is
	// no default.
	Default any

	// List is the list type, which determines how items are owned and merged.
	List ListType
	// Keys are the fields that identify the items of a map-like list, in the order of
	// the schema.
	Keys []string
	// AtomicMap is set if a map belongs to one owner as a whole.
	AtomicMap bool

	// anyFields is set if the schema has additionalProperties: true or false. Unknown
	// fields stay then, but everything inside them is pruned.
	anyFields bool
	// Closed is set if the schema has additionalProperties: false. No manager owns a field that has no schema.
	Closed bool
	// defaults names the properties that have a default.
	defaults []string
	// defaultSize estimates how many bytes of JSON the default has.
	defaultSize int
	// below is what this node and the nodes below it contain.
	below contents
	// keywords are the rules that validation checks; nil: none.
	keywords *keywords
	// apart is set if there are keywords for values below that do not have nodes.
	apart bool
}

// contents is what a part of a schema contains.
type contents struct {
	defaults bool
	embedded bool
	lists    bool // sets, and lists that are maps
	mixed    bool // a node with properties and additional fields
}

func (c contents) and(other contents) contents {
	return contents{c.defaults || other.defaults, c.embedded || other.embedded, c.lists || other.lists, c.mixed || other.mixed}
}

// HasDefaults reports whether there are defaults in the node or below it.
func (n *Node) HasDefaults() bool { return n != nil && n.below.defaults }

// HasEmbedded reports whether there are embedded resources in the node or below it.
func (n *Node) HasEmbedded() bool { return n != nil && n.below.embedded }

// ListType is how a list is owned and merged: x-kubernetes-list-type.
type ListType uint8

// The list types. A list without one is atomic.
const (
	Atomic  ListType = iota // one owner has the whole list
	Set                     // each value has owners
	MapList                 // each item has owners, by the values of its keys
)
