package schema

// IsToldInvalid tells whether a value is told to be invalid, which no fact says.
func (n *Node) IsToldInvalid(value any) bool { return n.keywords.judge(value) == invalid }
