package fields

import (
	"fmt"

	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"

	"github.com/fakecluster/fakecluster/internal/schema"
)

// Compile returns the tree of a type of structured-merge-diff, upstream's form of OpenAPI types. It fails for types that
// a tree cannot represent.
func Compile(types *smdschema.Schema, name string) (*Tree, error) {
	c := compiler{types: types, done: map[reference]*schema.Node{}}
	root, err := c.named(reference{name: name})
	if err != nil {
		return nil, err
	}
	return NewTypedTree(root), nil
}

// reference is a use of a named type. It may override the relationship of elements of the type.
type reference struct {
	name string
	as   smdschema.ElementRelationship
}

type compiler struct {
	types *smdschema.Schema
	done  map[reference]*schema.Node
}

// The types that upstream deduces from values.
const (
	deducedType = "__untyped_deduced_"
	untypedType = "__untyped_atomic_"
)

func (c *compiler) named(ref reference) (*schema.Node, error) {
	switch {
	case ref.name == deducedType && ref.as == "":
		return anything, nil
	case ref.name == untypedType && ref.as == "":
		return untyped, nil
	}
	if n, ok := c.done[ref]; ok {
		return n, nil
	}
	def, ok := c.types.FindNamedType(ref.name)
	if !ok {
		return nil, fmt.Errorf("the type %s is not defined", ref.name)
	}
	n := &schema.Node{}
	c.done[ref] = n // types may refer to themselves
	if err := c.fill(n, def.Atom); err != nil {
		return nil, fmt.Errorf("type %s: %w", ref.name, err)
	}
	switch {
	case ref.as == "":
	case def.Map != nil:
		n.AtomicMap = ref.as == smdschema.Atomic
	case def.List != nil && ref.as == smdschema.Atomic:
		n.List = schema.Atomic
	default:
		return nil, fmt.Errorf("type %s cannot be %s", ref.name, ref.as)
	}
	return n, nil
}

func (c *compiler) resolve(ref smdschema.TypeRef) (*schema.Node, error) {
	var as smdschema.ElementRelationship
	if ref.ElementRelationship != nil {
		as = *ref.ElementRelationship
	}
	if ref.NamedType != nil {
		return c.named(reference{*ref.NamedType, as})
	}
	if as != "" {
		return nil, fmt.Errorf("an inlined type cannot be %s", as)
	}
	n := &schema.Node{}
	return n, c.fill(n, ref.Inlined)
}

func (c *compiler) fill(n *schema.Node, atom smdschema.Atom) error {
	switch {
	case atom.Scalar != nil && atom.Map != nil && atom.List != nil:
		if *atom.Scalar != smdschema.Untyped {
			return fmt.Errorf("a type that is a %s, a map or a list", *atom.Scalar)
		}
	case atom.Scalar != nil && atom.Map == nil && atom.List == nil:
		switch *atom.Scalar {
		case smdschema.Numeric:
			n.Type = "number"
		case smdschema.String:
			n.Type = "string"
		case smdschema.Boolean:
			n.Type = "boolean"
		case smdschema.Untyped:
			n.IntOrString = true // for other types the engine declines
		default:
			return fmt.Errorf("an unknown scalar %s", *atom.Scalar)
		}
	case atom.Map != nil && atom.Scalar == nil && atom.List == nil:
		n.Type = "object"
	case atom.List != nil && atom.Scalar == nil && atom.Map == nil:
		n.Type = "array"
	default:
		return fmt.Errorf("a type that is several things")
	}
	if atom.Map != nil {
		if err := c.fillMap(n, atom.Map); err != nil {
			return err
		}
	}
	if atom.List == nil {
		return nil
	}
	var err error
	if atom.List.ElementRelationship == smdschema.Associative {
		n.List, n.Keys = schema.Set, atom.List.Keys
		if len(n.Keys) > 0 {
			n.List = schema.MapList
		}
	}
	n.Items, err = c.resolve(atom.List.ElementType)
	return err
}

func (c *compiler) fillMap(n *schema.Node, m *smdschema.Map) error {
	n.AtomicMap = m.ElementRelationship == smdschema.Atomic
	if len(m.Fields) > 0 {
		n.Properties = make(map[string]*schema.Node, len(m.Fields))
	}
	for _, field := range m.Fields {
		node, err := c.resolve(field.Type)
		if err != nil {
			return fmt.Errorf("field %s: %w", field.Name, err)
		}
		if field.Default != nil && (shapesOf(node) == isScalar || node.IntOrString) {
			// Only the defaults of keys matter here, and they are scalars.
			withDefault := *node
			withDefault.Default = field.Default
			node = &withDefault
		}
		n.Properties[field.Name] = node
	}
	if m.ElementType == (smdschema.TypeRef{}) {
		n.Closed = true
		return nil
	}
	var err error
	n.Additional, err = c.resolve(m.ElementType)
	return err
}
