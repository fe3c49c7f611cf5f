package scenarios

import (
	"bytes"
	"flag"
	"go/doc/comment"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

var rewritePublished = flag.Bool("update", false, "rewrite scenario.schema.json and docs/scenario-language.md")

// published compares a file of the repository with what the code makes.
func published(t *testing.T, path string, want []byte) {
	t.Helper()
	if *rewritePublished {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-code +file); if the code is right, run with -update:\n%s", path, d)
	}
}

func TestTheSchemaIsPublished(t *testing.T) { published(t, "scenario.schema.json", syntax.Schema()) }

// The page is the package comment, for people who read on the web.
func TestTheManualIsPublished(t *testing.T) {
	var parser comment.Parser
	printer := comment.Printer{HeadingLevel: 2, HeadingID: func(*comment.Heading) string { return "" }, DocLinkBaseURL: "https://pkg.go.dev"}
	page := bytes.NewBufferString("# Scenario files\n\n<!-- Written by go test ./scenarios -run TheManualIsPublished -update. -->\n\n")
	page.Write(printer.Markdown(parser.Parse(manualText(t))))
	published(t, "../docs/scenario-language.md", page.Bytes())
}
