package scenarios

import (
	goparser "go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The manual's lists of steps, and of what may stand beside one, are the tables that
// the parser reads, no more and no less.
func TestTheManualListsTheSteps(t *testing.T) {
	var steps, more []string
	for _, s := range Steps() {
		steps = append(steps, s.Name+": "+s.Argument+": "+s.Doc)
	}
	for _, b := range besides {
		more = append(more, b.name+": "+b.notation+": "+b.doc)
	}
	for _, list := range []struct {
		from, to string
		want     []string
	}{
		{"A step is one request, and the field", "A path is the whole", steps},
		{"Beside the request may stand more", "This sets a status", more},
	} {
		_, section, _ := strings.Cut(manualText(t), list.from)
		section, _, _ = strings.Cut(section, list.to)
		var got []string
		for _, item := range strings.Split(section, "\n  - ")[1:] {
			got = append(got, strings.Join(strings.Fields(item), " "))
		}
		if d := cmp.Diff(list.want, got); d != "" {
			t.Errorf("list in doc.go after %q (-want +got):\n%s", list.from, d)
		}
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

// The manual's other examples are steps that can be read.
func TestTheManualsSnippets(t *testing.T) {
	snippets := regexp.MustCompile(`(?m)^\tsteps:\n(\t.*\n)+`).FindAllString(manualText(t), -1)
	if len(snippets) != 4 {
		t.Errorf("%d examples, want 4", len(snippets))
	}
	for _, snippet := range snippets[1:] { // the first is the example above
		text := strings.ReplaceAll(snippet, "\n\t", "\n")
		text = "scenario: s\nsteps:\n- get: {path: /x}\n  as: created\n" + strings.TrimPrefix(text, "\tsteps:\n")
		if err := join(parse("doc.go", []byte(text)).mistakes); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
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
