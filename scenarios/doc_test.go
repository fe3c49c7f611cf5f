package scenarios

import (
	goparser "go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// The manual's lists of steps, and of what may stand beside one, are the tables that
// the parser reads, no more and no less.
func TestTheManualListsTheSteps(t *testing.T) {
	var steps, more []string
	for _, s := range syntax.StepDocs() {
		steps = append(steps, s.Name+": "+s.Argument+": "+s.Doc)
	}
	for _, b := range syntax.RequestFields {
		more = append(more, b.Name+": "+b.Notation+": "+b.Doc)
	}
	for _, list := range []struct {
		from, to string
		want     []string
	}{
		{"A step is one request, or controls a webhook", "A path is the complete path", steps},
		{"These fields add details to the request", "This patches a status", more},
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

// The example scenarios of the manual pass.
func TestTheManualsExamples(t *testing.T) {
	examples := regexp.MustCompile(`(?m)^\tscenario:(\t?.*\n)+?\n`).FindAllString(manualText(t), -1)
	folders := []string{"crontab", "workloads", "versions"}
	if len(examples) != len(folders) {
		t.Fatalf("%d scenarios, want %d", len(examples), len(folders))
	}
	for i, example := range examples {
		f := syntax.Parse(folders[i]+"/doc.go", []byte(unindented(example)))
		if err := f.Err(); err != nil {
			t.Fatalf("%v\n%s", err, example)
		}
		for _, s := range f.Scenarios {
			if result := player.Play(t.Context(), s, player.InProcess); result.Failure != nil {
				t.Error(result.Failure)
			}
		}
	}
}

// The example of a shared setup in the manual works.
func TestTheManualsSharedSetup(t *testing.T) {
	shared := regexp.MustCompile(`\n\n\tparameters:(\t?.*\n)+?\n`).FindString(manualText(t))
	_, use, _ := strings.Cut(manualText(t), "This uses it twice.")
	use = regexp.MustCompile(`\n\n\tsetup:\n(\t.*\n)+`).FindString(use)
	folder := t.TempDir()
	for name, text := range map[string]string{
		"deployment.yaml": unindented(shared),
		"s.yaml":          "scenario: s\n" + unindented(strings.TrimLeft(use, "\n")) + "steps:\n- count: {apiVersion: apps/v1, kind: Deployment}\n  expect: 2\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := syntax.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if result := player.Play(t.Context(), loaded[0], player.InProcess); result.Failure != nil {
		t.Error(result.Failure)
	}
}

// The parser accepts the other examples of the manual.
func TestTheManualsSnippets(t *testing.T) {
	snippets := regexp.MustCompile(`\n\n\tsteps:\n(\t.*\n)+`).FindAllString(manualText(t), -1)
	if len(snippets) != 5 {
		t.Errorf("%d examples, want 5", len(snippets))
	}
	for _, snippet := range snippets {
		_, steps, _ := strings.Cut(unindented(snippet), "steps:\n")
		text := "scenario: s\nsteps:\n- get: {path: /x}\n  as: created\n" + steps
		if err := syntax.Parse("doc.go", []byte(text)).Err(); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

func unindented(text string) string {
	return regexp.MustCompile(`(?m)^\t`).ReplaceAllString(text, "")
}

func manualText(t *testing.T) string {
	t.Helper()
	file, err := goparser.ParseFile(token.NewFileSet(), "doc.go", nil, goparser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return file.Doc.Text()
}
