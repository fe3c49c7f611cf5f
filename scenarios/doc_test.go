package scenarios

import (
	goparser "go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The manual's list of steps is the table of verbs, no more and no less.
func TestTheManualListsTheSteps(t *testing.T) {
	var want []string
	for _, s := range Steps() {
		want = append(want, s.Name+": "+s.Argument+": "+s.Doc)
	}
	manual := manualText(t)
	_, section, _ := strings.Cut(manual, "# Steps\n")
	section, _, _ = strings.Cut(section, "A path is the whole")
	var got []string
	for _, item := range strings.Split(section, "  - ")[1:] {
		got = append(got, strings.Join(strings.Fields(item), " "))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("list of steps in doc.go (-want +got):\n%s", d)
	}
}

// The scenario that the manual shows is one that passes.
func TestTheManualsExample(t *testing.T) {
	_, example, _ := strings.Cut(manualText(t), "\tscenario:")
	example, _, _ = strings.Cut("scenario:"+example, "\nThe fields")
	example = regexp.MustCompile(`(?m)^\t`).ReplaceAllString(example, "")
	f := parse("crontab/doc.go", []byte(example))
	if err := join(f.mistakes); err != nil {
		t.Fatalf("%v\n%s", err, example)
	}
	if result := f.scenarios[0].Play(t.Context(), InProcess); result.Failure != nil {
		t.Error(result.Failure)
	}
}

func manualText(t *testing.T) string {
	t.Helper()
	file, err := goparser.ParseFile(token.NewFileSet(), "doc.go", nil, goparser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return file.Doc.Text()
}
