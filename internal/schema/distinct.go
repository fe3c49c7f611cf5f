package schema

// areDistinct reports whether the items of a set have different values, or the items of a map-like list different keys.
// It returns false for objects and lists in a set, which upstream compares by rules of its own, and for numbers that
// upstream may find equal.
func (n *Node) areDistinct(list []any) bool {
	if n.List == Set {
		return len(list) <= 1 || areDistinctScalars(list)
	}
	for _, item := range list {
		if _, ok := item.(map[string]any); !ok {
			return false
		}
	}
	if len(list) <= 1 {
		return true
	}
	if len(n.Keys) == 1 {
		// Keys are nearly always names, which a Go map compares faster than each with each.
		if len(list) > manyItems {
			return areDistinctNames(list, n.Keys[0])
		}
	} else if len(list) > 8*manyItems {
		return false
	}
	for i := range list {
		for j := range i {
			if n.mayBeOneItem(list[i].(map[string]any), list[j].(map[string]any)) {
				return false
			}
		}
	}
	return true
}

// manyItems is the number of items above which a Go map compares them.
const manyItems = 16

func areDistinctNames(list []any, key string) bool {
	seen := make(map[string]struct{}, len(list))
	for i, item := range list {
		name, ok := item.(map[string]any)[key].(string)
		if seen[name] = struct{}{}; !ok || len(seen) <= i {
			return false
		}
	}
	return true
}

func areDistinctScalars(list []any) bool {
	if len(list) > manyItems {
		seen := make(map[string]struct{}, len(list))
		for i, item := range list {
			text, ok := item.(string)
			if seen[text] = struct{}{}; !ok || len(seen) <= i {
				return false
			}
		}
		return true
	}
	for i := range list {
		for j := range i {
			if mayBeEqual(list[i], list[j]) {
				return false
			}
		}
	}
	return true
}

// mayBeOneItem reports whether upstream may find the keys of two items equal.
func (n *Node) mayBeOneItem(a, b map[string]any) bool {
	for _, key := range n.Keys {
		x, isThere := a[key]
		y, isThereToo := b[key]
		if isThere == isThereToo && isThere && !mayBeEqual(x, y) {
			return false
		}
		if isThere != isThereToo && isScalar(x) && isScalar(y) {
			return false
		}
	}
	return true
}

// mayBeEqual reports whether upstream may find two values equal.
func mayBeEqual(a, b any) bool {
	if !isScalar(a) || !isScalar(b) || a == b {
		return true
	}
	_, isInteger := a.(int64)
	_, isFloat := a.(float64)
	switch b.(type) {
	case int64:
		return isFloat // upstream may convert one of them
	case float64:
		return isInteger
	}
	return false
}

func isScalar(value any) bool {
	switch value.(type) {
	case nil, string, bool, int64, float64:
		return true
	}
	return false
}
