package schema

// IsInvalid reports whether the keywords find a value invalid. No fact has that.
func (n *Node) IsInvalid(value any) bool { return n.keywords.evaluate(value) == invalid }

// HasLists reports whether there are sets, or lists that are maps, in the node or below
// it.
func (n *Node) HasLists() bool { return n != nil && n.below.lists }
