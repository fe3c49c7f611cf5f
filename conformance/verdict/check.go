package verdict

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// List is a checked-in list and how it is to be used.
type List struct {
	// Path is the file. A list that is not there yet is empty.
	Path string
	// Comment stands at its head.
	Comment string
	// Match says which tests were run; the others stay as they are listed. Nil: all.
	Match func(name string) bool
	// Update rewrites the list instead of failing.
	Update bool
}

// Check prints the table of results and how it differs from the list, or makes the
// list say the same. It returns an error if they differ still.
func (l List) Check(w io.Writer, results []Result) error {
	Table(w, results)
	expected, err := ReadList(l.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var listed, others []Result
	for _, r := range expected {
		if l.Match == nil || l.Match(r.Name) {
			listed = append(listed, r)
		} else {
			others = append(others, r)
		}
	}
	diffs := Compare(listed, results)
	if l.Update {
		fmt.Fprintf(w, "%s: %d changed\n", l.Path, len(diffs))
		return WriteList(l.Path, l.Comment, merge(expected, others, results))
	}
	if len(diffs) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%s says otherwise:\n", l.Path)
	for _, d := range diffs {
		fmt.Fprintf(w, "  %s\n", d)
	}
	return fmt.Errorf("%d results differ from %s; if they are right, -update. The first: %s", len(diffs), l.Path, diffs[0])
}

// merge returns the results in their order, with the others, those entries of the list
// that were not run, each behind the entry that it follows in the list.
func merge(listed, others, results []Result) []Result {
	merged := slices.Clone(results)
	for i, r := range listed {
		if !slices.ContainsFunc(others, func(o Result) bool { return o.Name == r.Name }) {
			continue
		}
		place := 0
		for j := i - 1; j >= 0 && place == 0; j-- {
			place = 1 + slices.IndexFunc(merged, func(m Result) bool { return m.Name == listed[j].Name })
		}
		merged = slices.Insert(merged, place, r)
	}
	return merged
}
