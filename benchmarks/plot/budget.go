package main

import (
	"fmt"
	"slices"
	"strings"
)

// row is the budget of an operation, × the floor.
type row struct {
	operation string
	title     string
	atMost    [2]float64 // by way; zero where there is no budget
	ofBuiltIn [2]float64 // for kinds in builtIn
}

// builtIn are the kinds whose objects have Go types. The rules of these kinds are
// upstream's code, so that a write of one may cost more.
var builtIn = []string{"Deployment", "Pod"}

// limit returns the budget of the operation on a kind by one of the ways; zero: there is
// none.
func (r row) limit(kind string, way int) float64 {
	if slices.Contains(builtIn, kind) {
		return r.ofBuiltIn[way]
	}
	return r.atMost[way]
}

// Budgets of the design, × the floor.
var (
	reads           = [2]float64{1.3, 1.3}
	writes          = [2]float64{1.8, 2.1}
	applies         = [2]float64{2.2, 2.4}
	watches         = [2]float64{1.7, 1.7}
	writesOfBuiltIn = [2]float64{2.7, 3}
	appliesBuiltIn  = [2]float64{3.2, 3.5}
)

// budget is the budget of the design, in the order in which it is shown.
var budget = []row{
	{"get", "get", reads, reads},
	{"list", "list of 500", reads, reads},
	{"create", "create", writes, writesOfBuiltIn},
	{"update", "update of an annotation", writes, writesOfBuiltIn},
	{"update-status", "update of the status", writes, writesOfBuiltIn},
	{"merge-patch", "merge patch", writes, writesOfBuiltIn},
	{"merge-patch-status", "merge patch of the status", writes, writesOfBuiltIn},
	{"apply", "server-side apply", applies, appliesBuiltIn},
	{"watch", "a merge patch until a watcher has it", watches, watches},
	{operation: "delete-with-finalizer", title: "delete, and removal of the finalizer"},
}

// rowOf returns the row of an operation. If the budget does not have the operation, its
// name is the title.
func rowOf(operation string) row {
	for _, row := range budget {
		if row.operation == operation {
			return row
		}
	}
	return row{operation: operation, title: operation}
}

func (r row) hasBudget() bool { return r.atMost != [2]float64{} }

// verdicts says for each row of the budget whether it holds, or for which kinds it
// does not.
func (r *results) verdicts() string {
	var text strings.Builder
	for _, operation := range r.operations {
		row := rowOf(operation)
		if !row.hasBudget() {
			continue
		}
		var above []string
		for _, kind := range r.kinds {
			for i, way := range ways {
				c := lifeCase{kind, operation, way}
				if x := r.timesFloor(c); x > row.limit(kind, i) {
					above = append(above, fmt.Sprintf("%s %s %.1f (first quartile %.1f)", kind, way, x, r.life[c]["x-floor-p25"]))
				}
			}
		}
		verdict := "holds"
		if len(above) > 0 {
			verdict = "does not hold\n  " + strings.Join(above, "\n  ")
		}
		fmt.Fprintf(&text, "%-20s %s  %s\n", operation, row.shown(), verdict)
	}
	return text.String()
}
