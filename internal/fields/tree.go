package fields

import (
	"github.com/fakecluster/fakecluster/internal/schema"
)

// Tree is the schema of a version of a kind for field ownership.
type Tree struct {
	root     *schema.Node
	preserve bool
	bare     bool
}

// NewTree returns the tree of a version of a custom resource with the schema of root. apiVersion, kind and metadata have
// the schemas of all resources. If preserve is set, fields without a schema are kept everywhere.
func NewTree(root *schema.Node, preserve bool) *Tree {
	return &Tree{root: root, preserve: preserve}
}

// NewBareTree returns the tree of a version without a schema. The metadata does not have a schema either, so that its
// lists are atomic.
func NewBareTree() *Tree { return &Tree{root: anything, bare: true} }

// NewTypedTree returns the tree of a version of a kind with a Go type, whose schema contains the metadata.
func NewTypedTree(root *schema.Node) *Tree { return &Tree{root: root, bare: true} }

// Root returns the schema of the objects.
func (t *Tree) Root() *schema.Node { return t.root }

// anything is the schema of values without a schema: maps are granular, lists atomic.
var anything = &schema.Node{}

// untyped is the schema of atomic values of any type.
var untyped = func() *schema.Node {
	n := &schema.Node{AtomicMap: true}
	n.Items, n.Additional = n, n
	return n
}()

var text = &schema.Node{Type: "string"}

var texts = &schema.Node{Type: "object", Additional: text}

// metadataNode is the schema of ObjectMeta.
var metadataNode = &schema.Node{Type: "object", Properties: map[string]*schema.Node{
	"annotations":                texts,
	"creationTimestamp":          text,
	"deletionGracePeriodSeconds": {Type: "integer"},
	"deletionTimestamp":          text,
	"finalizers":                 {Type: "array", List: schema.Set, Items: text},
	"generateName":               text,
	"generation":                 {Type: "integer"},
	"labels":                     texts,
	"managedFields":              untyped,
	"name":                       text,
	"namespace":                  text,
	"ownerReferences": {Type: "array", List: schema.MapList, Keys: []string{"uid"}, Items: &schema.Node{
		Type: "object", AtomicMap: true, Properties: map[string]*schema.Node{
			"apiVersion": text, "blockOwnerDeletion": {Type: "boolean"}, "controller": {Type: "boolean"},
			"kind": text, "name": text, "uid": text,
		},
	}},
	"resourceVersion": text,
	"selfLink":        text,
	"uid":             text,
}}

// isServerMade reports whether no manager ever owns a field of metadata, such as uid.
func isServerMade(name string) bool {
	switch name {
	case "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields", "resourceVersion":
		return true
	}
	return false
}

// shape is a set of types: those that a schema allows, or the type of a value.
type shape uint8

const (
	isMap shape = 1 << iota
	isScalar
	isList
	isNull
	isAbsent
)

// shapesOf returns the shapes that a schema allows.
func shapesOf(n *schema.Node) shape {
	switch n.Type {
	case "":
		return isMap | isScalar | isList
	case "object":
		return isMap
	case "array":
		return isList
	}
	return isScalar
}

// itemsOf returns the schema of the items of a list.
func itemsOf(n *schema.Node) *schema.Node {
	if n.Items == nil {
		return untyped
	}
	return n.Items
}

// fixed returns the schema of a field that has the same schema in every resource, or nil.
func fixed(name string) *schema.Node {
	switch name {
	case "apiVersion", "kind":
		return text
	case "metadata":
		return metadataNode
	}
	return nil
}

// place is a schema in its context.
type place struct {
	*schema.Node
	preserve bool // fields without a schema are kept
	resource bool // apiVersion, kind and metadata have the schemas of all resources
}

func (t *Tree) place() place {
	return place{t.root, t.preserve || t.root.PreserveUnknown, !t.bare}
}

// item returns the place of the items of a list.
func (p place) item() place { return p.below(itemsOf(p.Node)) }

func (p place) below(n *schema.Node) place {
	if n == nil {
		n = anything
	}
	return place{n, p.preserve || n.PreserveUnknown, n.Embedded}
}

// field returns the place of a field. named: the field has its own schema. ok is false if the schema does not allow the
// field.
func (p place) field(name string, t *Tree) (below place, named, ok bool) {
	if p.resource {
		if n := fixed(name); n != nil {
			return place{Node: n, preserve: t.preserve}, true, true
		}
	}
	if n, ok := p.Properties[name]; ok {
		return p.below(n), true, true
	}
	switch {
	case p.Additional != nil:
		return p.below(p.Additional), false, true
	case p.Closed:
		return place{}, false, false
	case p.preserve, len(p.Properties) == 0 && !p.resource:
		return place{Node: anything}, false, true
	}
	return place{}, false, false
}
