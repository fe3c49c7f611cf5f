package fields

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// parseSet parses a set from the JSON tree of fieldsV1. canonical is false if upstream would write the set differently.
// ok is false if upstream might reject it.
func parseSet(tree map[string]any) (s *Set, canonical, ok bool) {
	s, _, canonical, ok = parseBelow(tree, true)
	return s, canonical, ok
}

func parseBelow(tree map[string]any, root bool) (s *Set, member, canonical, ok bool) {
	canonical = true
	if len(tree) == 0 {
		return nil, true, true, true
	}
	nodes := make([]node, 0, len(tree))
	for text, value := range tree {
		if text == "." {
			member = true
			m, isMap := value.(map[string]any)
			canonical = canonical && !root && isMap && len(m) == 0
			continue
		}
		e, exact, supported, ok := parseElement(text)
		if !ok {
			return nil, false, false, false
		}
		canonical = canonical && exact
		if !supported {
			continue
		}
		inner, isMap := value.(map[string]any)
		if !isMap {
			return nil, false, false, false
		}
		below, isMember, exact, ok := parseBelow(inner, false)
		if !ok {
			return nil, false, false, false
		}
		canonical = canonical && exact
		nodes = append(nodes, node{e, isMember, below})
	}
	if len(nodes) == 0 {
		return nil, true, false, true
	}
	s = newSet(nodes)
	for i := 1; i < len(nodes); i++ {
		if compareElements(nodes[i-1].element, nodes[i].element) == 0 {
			return nil, false, false, false
		}
	}
	return s, member, canonical, true
}

// tree returns the set as the JSON tree of fieldsV1.
func (s *Set) tree() map[string]any {
	leaf := map[string]any{}
	return s.below(false, leaf)
}

func (s *Set) below(member bool, leaf map[string]any) map[string]any {
	if s == nil {
		return leaf
	}
	size := len(s.nodes)
	if member {
		size++
	}
	m := make(map[string]any, size)
	if member {
		m["."] = leaf
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		m[n.text] = n.below.below(n.member, leaf)
	}
	return m
}

// appendJSON appends the set in fieldsV1 as upstream writes it, with elements in the order of the set.
func (s *Set) appendJSON(dst []byte) ([]byte, error) {
	if !s.isPlain() {
		text, err := s.upstream().ToJSON()
		return append(dst, text...), err
	}
	return s.appendPlain(dst, false), nil
}

func (s *Set) isPlain() bool {
	return !slices.ContainsFunc(s.list(), func(n node) bool {
		return n.item == nil && !isPlain(n.text) || n.item != nil && !isQuotable(n.text) || !n.below.isPlain()
	})
}

// isQuotable reports whether JSON escapes nothing in a text except quotes.
func isQuotable(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

func (s *Set) appendPlain(dst []byte, member bool) []byte {
	dst = append(dst, '{')
	if member && s != nil {
		dst = append(dst, `".":{}`...)
	}
	for i, n := range s.list() {
		if i > 0 || member {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		for j := range len(n.text) {
			if n.text[j] == '"' {
				dst = append(dst, '\\')
			}
			dst = append(dst, n.text[j])
		}
		dst = n.below.appendPlain(append(dst, '"', ':'), n.member)
	}
	return append(dst, '}')
}

// upstream returns the set in the type of upstream's library.
func (s *Set) upstream() *fieldpath.Set {
	out := fieldpath.NewSet()
	for _, n := range s.list() {
		e := n.element.upstream()
		if n.member {
			out.Members.Insert(e)
		}
		if n.below != nil {
			*out.Children.Descend(e) = *n.below.upstream()
		}
	}
	return out
}
