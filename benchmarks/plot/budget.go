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
}

// builtIn are the kinds whose objects have Go types. The rules of these kinds are
// upstream's code, so that a write of one may cost more.
var builtIn = []string{"Deployment", "Pod"}

// writesOfBuiltIn is the budget of a write of a built-in kind, × the floor.
var writesOfBuiltIn = [2]float64{2.5, 2.7}

// limit returns the budget of the operation on a kind by one of the ways; zero: there is
// none.
func (r row) limit(kind string, way int) float64 {
	switch r.operation {
	case "create", "update", "update-status", "merge-patch", "merge-patch-status", "apply":
		if slices.Contains(builtIn, kind) {
			return writesOfBuiltIn[way]
		}
	}
	return r.atMost[way]
}

// budget is the budget of the design, in the order in which it is shown.
var budget = []row{
	{"get", "get", [2]float64{1.1, 1.1}},
	{"list", "list of 500", [2]float64{1.1, 1.1}},
	{"create", "create", [2]float64{1.7, 1.9}},
	{"update", "update of an annotation", [2]float64{2, 2.2}},
	{"update-status", "update of the status", [2]float64{2, 2.2}},
	{"merge-patch", "merge patch", [2]float64{2, 2.2}},
	{"merge-patch-status", "merge patch of the status", [2]float64{2, 2.2}},
	{"apply", "server-side apply", [2]float64{2.5, 2.7}},
	{"watch", "a merge patch until a watcher has it", [2]float64{1.3, 1.5}},
	{"delete-with-finalizer", "delete, and removal of the finalizer", [2]float64{}},
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
		fmt.Fprintf(&text, "%-20s %.1f / %.1f  %s\n", operation, row.atMost[0], row.atMost[1], verdict)
	}
	return text.String()
}
