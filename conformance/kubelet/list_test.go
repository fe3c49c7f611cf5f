package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTheListIsUpdated: a result takes the place of what the list had about the same Pods, and of nothing else.
func TestTheListIsUpdated(t *testing.T) {
	path := filepath.Join(t.TempDir(), listFile)
	write := func(r *result) *list {
		t.Helper()
		l, err := readList(path, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.update(r); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(l.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return l
	}
	write(&result{pods: []int{0, 1, 2, 3}, differ: []difference{
		{pod: 1, reason: &reasons[0], lines: []string{"conditions of one kind"}},
		{pod: 2, lines: []string{"one\nof two lines", "another"}},
		{pod: 3, lines: []string{"one"}},
	}})
	write(&result{pods: []int{3}})
	write(&result{pods: []int{4}, differ: []difference{{pod: 4, lines: []string{"a third"}}}})
	const want = `# Which random pods look different to clients under the unmodified kubelet and under the node agent, and why: go run ./kubelet -update
# Seed 1, 5 pods: 2 are the same, 3 differ, 2 of them without a known reason.
#
# phase (1 pods): The kubelet writes the end of the last containers and the phase that follows from it one after the other; the agent writes both at once.

p1 phase
p2 UNEXPLAINED
  * one
    of two lines
  * another
p4 UNEXPLAINED
  * a third
`
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("the list is\n%s\nwant\n%s", got, want)
	}
	l := write(&result{})
	const gap = "the list has the pods before p5: begin with -first 5 or less"
	if err := l.update(&result{pods: []int{6}}); err == nil || err.Error() != gap {
		t.Errorf("the error is %v, want %s", err, gap)
	}
	const seed = " is the list of seed 1, not of 2"
	if _, err := readList(path, 2); err == nil || err.Error() != path+seed {
		t.Errorf("the error is %v, want %s", err, path+seed)
	}
}
