package fields

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Filter leaves paths out of a set. A nil Filter leaves out nothing.
type Filter func(*Set) *Set

func (f Filter) kept(s *Set) *Set {
	if f == nil {
		return s
	}
	return f(s)
}

// Excluding returns a filter that leaves out the paths of a set and everything below them.
func Excluding(out *Set) Filter {
	return func(s *Set) *Set { return differenceBelow(s, out) }
}

// ExcludingPaths is Excluding for a set of upstream's type, as strategies have it.
func ExcludingPaths(out *fieldpath.Set) Filter {
	if set, ok := setOfFields(out); ok {
		return Excluding(set)
	}
	return FilterOf(fieldpath.NewExcludeSetFilter(out))
}

// setOfFields converts a set of upstream's type. ok is false if not all of its elements are fields.
func setOfFields(s *fieldpath.Set) (set *Set, ok bool) {
	var nodes []node
	ok = true
	s.Members.Iterate(func(e fieldpath.PathElement) {
		if ok = ok && e.FieldName != nil; ok {
			nodes = append(nodes, node{element: fieldElement(*e.FieldName), member: true})
		}
	})
	set = newSet(nodes)
	s.Children.Iterate(func(e fieldpath.PathElement) {
		if ok = ok && e.FieldName != nil; !ok {
			return
		}
		below, isFields := setOfFields(s.WithPrefix(e))
		ok = ok && isFields
		if below != nil {
			set = union(set, &Set{[]node{{element: fieldElement(*e.FieldName), below: below}}})
		}
	})
	return set, ok
}

// FilterOf converts a filter of upstream's type, as strategies have it.
func FilterOf(f fieldpath.Filter) Filter {
	return func(s *Set) *Set {
		if s == nil {
			return nil
		}
		return s.kept(f.Filter(s.upstream()))
	}
}

// kept returns the paths of the set that are also in a set of upstream's type.
func (s *Set) kept(in *fieldpath.Set) *Set {
	var out []node
	for _, n := range s.list() {
		e := n.element.upstream()
		kept := node{element: n.element, member: n.member && in.Members.Has(e)}
		if below, ok := in.Children.Get(e); ok {
			kept.below = n.below.kept(below)
		}
		if kept.member || kept.below != nil {
			out = append(out, kept)
		}
	}
	if out == nil {
		return nil
	}
	return &Set{out}
}
