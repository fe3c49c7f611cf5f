package bubble

import "sync"

// each has the functions that each check calls.
var each struct {
	mu    sync.Mutex
	calls []*func()
}

// Each has f called at each check, outside of bubbles, until stop is called. So module remote finds time that passes
// without end, which its pump advances.
func Each(f func()) (stop func()) {
	each.mu.Lock()
	defer each.mu.Unlock()
	each.calls = append(each.calls, &f)
	return func() {
		each.mu.Lock()
		defer each.mu.Unlock()
		var left []*func()
		for _, other := range each.calls {
			if other != &f {
				left = append(left, other)
			}
		}
		each.calls = left
	}
}

// checkPassing calls the functions of Each.
func checkPassing() {
	each.mu.Lock()
	calls := each.calls[:len(each.calls):len(each.calls)]
	each.mu.Unlock()
	for _, f := range calls {
		(*f)()
	}
}
