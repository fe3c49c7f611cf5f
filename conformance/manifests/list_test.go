package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// TestTheListHasEveryProject proves that the list has a line for each manifest, that each says how many objects and Pods
// there are and how much memory the server has, and that enough of them become ready without help.
func TestTheListHasEveryProject(t *testing.T) {
	listed, err := verdict.ReadList(filepath.Join("..", list.Path))
	if err != nil {
		t.Fatal(err)
	}
	var names, want, modules []string
	unaided := 0
	measured := regexp.MustCompile(`^[1-9][0-9]* objects, [1-9][0-9]* Pods, [1-9][0-9]* MB$`)
	for _, r := range listed {
		i := slices.IndexFunc(projects, func(p *project) bool { return p.String() == r.Name })
		names = append(names, r.Name)
		switch {
		case r.Verdict == verdict.Pass && !measured.MatchString(r.Reason):
			t.Errorf("%s says %q", r.Name, r.Reason)
		case r.Verdict != verdict.Pass && r.Reason == "":
			t.Errorf("%s does not have a reason", r.Name)
		case r.Verdict == verdict.Pass && i >= 0 && projects[i].made == "":
			unaided++
		}
	}
	for _, p := range projects {
		want = append(want, p.String())
		modules = append(modules, p.module)
	}
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("the list has\n%q, want\n%q", names, want)
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(modules))); len(distinct) < 30 || unaided < 25 {
		t.Errorf("%d modules are installed, of which %d become ready without help", len(distinct), unaided)
	}
}
