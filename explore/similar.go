package explore

import (
	"fmt"
	"strings"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
)

// mostSimilar is how many similar differences become findings of their own. For example, an operator that
// never changes its Pods shows a difference for each field of the Pod template.
const mostSimilar = 3

// similarity returns a text that is equal for differences with probably the same cause: Pods that are never
// changed, fields of one template that do not reach the same objects, or edited fields of the same objects
// that are not restored. It returns "" for any other problem.
func similarity(tr trial, p problem) string {
	resource, path, isField := strings.Cut(p.key, "/")
	if !p.compared || !isField || len(tr.fault) > 0 || p.step < 0 || p.step >= len(tr.steps) {
		return ""
	}
	switch s := tr.steps[p.step]; s.Verb {
	case generate.EditOwned:
		if edited, _, _ := strings.Cut(s.Object, " "); edited == resource {
			return fmt.Sprint(p.oracle, " ", s.Verb, " ", resource)
		}
	case generate.Set, generate.Remove:
		if resource == "pods" { // it is made anew for each change, or for none
			return fmt.Sprint(p.oracle, " pods")
		}
		from, to := elements(s.Path), elements(path)
		n := 0
		for n < min(len(from), len(to)) && from[len(from)-n-1] == to[len(to)-n-1] {
			n++
		}
		if n > 0 {
			return fmt.Sprint(p.oracle, " ", from[:len(from)-n], " ", resource, " ", to[:len(to)-n])
		}
	}
	return ""
}

// elements returns the elements of a path, with an asterisk for each list index.
func elements(path string) []string {
	found := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, element := range found {
		if strings.Trim(element, "0123456789") == "" {
			found[i] = "*"
		}
	}
	return found
}

// isSimilar reports whether a problem is like several findings of this run. Such a problem is only listed,
// and counts as known.
func (e *operatorExploration) isSimilar(tr trial, p problem) bool {
	like := similarity(tr, p)
	if like == "" || e.results.similar[like] < mostSimilar {
		return false
	}
	e.results.know(p)
	e.results.found.Similar = append(e.results.found.Similar, fmt.Sprintf("%s: %s; the trial was '%s'", p.oracle, p.what, tr))
	return true
}

// noteSimilar counts a finding of this run among those that are like it. Those of the corpus are known, and do not count.
func (e *operatorExploration) noteSimilar(tr trial, p problem) {
	if like := similarity(tr, p); like != "" {
		e.results.similar[like]++
	}
}

// logSimilar returns a text with the number of similar differences and the first of them.
func (found Found) logSimilar() string {
	const shown = 10
	if len(found.Similar) == 0 {
		return ""
	}
	text := fmt.Sprintf("these differences are like %d findings each, and were not looked at further: %d", mostSimilar, len(found.Similar))
	for _, s := range found.Similar[:min(shown, len(found.Similar))] {
		text += "\n    " + s
	}
	if more := len(found.Similar) - shown; more > 0 {
		text += fmt.Sprintf("\n    … %d more in Found.Similar", more)
	}
	return text
}
