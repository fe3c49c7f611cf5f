package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The ways to a cluster, in the order of the budget.
var ways = [2]string{"http", "in-process"}

// measuredPrefix begins the line of results.txt that says when and what was measured.
const measuredPrefix = "measured: "

// lifeCase is what one benchmark of life measures.
type lifeCase struct{ kind, operation, way string }

// figures has the metrics of a benchmark by unit, such as ns/op.
type figures map[string]float64

// results has the results of one run. Kinds, operations and peers are in the order in which
// they were measured.
type results struct {
	run               string // the day and the commit; empty: not recorded
	kinds, operations []string
	life              map[lifeCase]figures
	peers             []string
	reconcile         map[string]figures
}

// processors matches the number of processors, which go test appends to the name of a
// benchmark.
var processors = regexp.MustCompile(`-\d+$`)

// parse reads what go test -bench prints. If a benchmark was measured several times, the
// last result counts.
func parse(from io.Reader) (*results, error) {
	r := &results{life: map[lifeCase]figures{}, reconcile: map[string]figures{}}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if run, ok := strings.CutPrefix(lines.Text(), measuredPrefix); ok {
			r.run = run
		}
		words := strings.Fields(lines.Text())
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") || words[1] == "---" { // SKIP
			continue
		}
		f := figures{}
		for i := 2; i+1 < len(words); i += 2 {
			value, err := strconv.ParseFloat(words[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", words[0], err)
			}
			f[words[i+1]] = value
		}
		name := strings.Split(processors.ReplaceAllString(words[0], ""), "/")
		switch {
		case name[0] == "BenchmarkLife" && len(name) == 4:
			c := lifeCase{name[1], name[2], name[3]}
			r.life[c] = f
			r.kinds, r.operations = appendNew(r.kinds, c.kind), appendNew(r.operations, c.operation)
		case name[0] == "BenchmarkReconcile" && len(name) == 2:
			r.reconcile[name[1]] = f
			r.peers = appendNew(r.peers, name[1])
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(r.life) == 0 {
		return nil, errors.New("no figures of BenchmarkLife")
	}
	for _, kind := range r.kinds {
		for _, operation := range r.operations {
			for _, way := range ways {
				if _, measured := r.life[lifeCase{kind, operation, way}]; !measured {
					return nil, fmt.Errorf("%s of %s, %s, was not measured", operation, kind, way)
				}
			}
		}
	}
	r.sortOperations()
	return r, nil
}

// appendNew appends a text that a list lacks.
func appendNew(texts []string, one string) []string {
	if slices.Contains(texts, one) {
		return texts
	}
	return append(texts, one)
}

// sortOperations puts the operations in the order of the budget, with those that it
// does not have at the end.
func (r *results) sortOperations() {
	rank := func(operation string) int {
		for i, row := range budget {
			if row.operation == operation {
				return i
			}
		}
		return len(budget)
	}
	slices.SortStableFunc(r.operations, func(a, b string) int { return rank(a) - rank(b) })
}

// timesFloor returns the ratio of the cluster's time and the floor, rounded as it is shown.
func (r *results) timesFloor(c lifeCase) float64 {
	shown, err := strconv.ParseFloat(strconv.FormatFloat(r.life[c]["x-floor"], 'f', 1, 64), 64)
	if err != nil {
		panic(err) // it was formatted just now
	}
	return shown
}
