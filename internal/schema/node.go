package schema

// Node is the schema of one value: an object, a field, an item of a list or a value of a map. A nil *Node allows any
// value.
//
// A tree may be recursive through Items, Additional or Properties of some types of Kubernetes (JSONSchemaProps). Walks
// follow the value, so they end.
type Node struct {
	// Type is "object", "array", "string", "integer", "number", "boolean" or empty: any.
	Type string
	// IntOrString values are integers or strings, regardless of Type.
	IntOrString bool
	// Nullable values may be null.
	Nullable bool

	// Properties are the schemas of fields by name.
	Properties map[string]*Node
	// Additional is the schema of the other fields; nil: there is none.
	Additional *Node
	// Items is the schema of the items of a list; nil: there is none.
	Items *Node

	// PreserveUnknown keeps fields without a schema.
	PreserveUnknown bool
	// Embedded values are whole resources with apiVersion, kind and metadata.
	Embedded bool

	// Default is the default of a missing value (map[string]any, []any, string, int64, float64 or bool); nil: none. It
	// is shared and must not be altered.
	Default any

	// List is the list type, which determines how items are owned and merged.
	List ListType
	// Keys are the fields that identify the items of a map-like list, in the order of
	// the schema.
	Keys []string
	// AtomicMap: a map belongs to one owner as a whole.
	AtomicMap bool

	// anyFields: the schema has additionalProperties: true or false. Then unknown fields stay, but everything inside
	// them is pruned.
	anyFields bool
	// Closed: the schema has additionalProperties: false. No manager owns a field without a schema.
	Closed bool
	// defaults names the properties that have a default.
	defaults []string
	// defaultSize estimates how many bytes of JSON the default has.
	defaultSize int
	// below has the contents of this node and the nodes below it.
	below contents
	// keywords are the rules that validation checks; nil: none.
	keywords *keywords
	// apart: there are keywords for values below that have no nodes.
	apart bool
}

// contents lists the features of a part of a schema.
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

// ListType is x-kubernetes-list-type: it determines how a list is owned and merged.
type ListType uint8

// The list types. A list without one is atomic.
const (
	Atomic  ListType = iota // one owner has the whole list
	Set                     // each value has owners
	MapList                 // each item has owners, by the values of its keys
)
