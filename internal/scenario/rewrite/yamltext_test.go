package rewrite

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// The text from where a node begins to where it ends is that node, in every fourth file of the corpus.
func TestNodesEndWhereTheyEnd(t *testing.T) {
	checked, files := 0, 0
	check := func(path string, text []byte) {
		p := syntax.NewParser(path)
		roots := p.Documents(text)
		s := newSource(text)
		var walk func(n *yaml.Node)
		walk = func(n *yaml.Node) {
			for _, child := range n.Content {
				walk(child)
			}
			start, err := s.start(n)
			if err != nil {
				t.Fatalf("%s:%d:%d: %v", path, n.Line, n.Column, err)
			}
			end, err := s.end(n)
			if err != nil || end-start > 300 || strings.Contains(s.text[start:end], "*") || n.ShortTag() == "!!merge" {
				return // an alias is in it, or it is long, and what is in it is looked at
			}
			part := s.text[start:end]
			if n.Kind != yaml.ScalarNode || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
				part = strings.Repeat(" ", n.Column-1) + part
			}
			var again yaml.Node
			if err := yaml.Unmarshal([]byte(part), &again); err != nil {
				t.Errorf("%s:%d:%d: %q: %v", path, n.Line, n.Column, part, err)
				return
			}
			var want, got any
			if err := n.Decode(&want); err != nil {
				return // a mark that Go does not know
			}
			if err := again.Decode(&got); err != nil || !reflect.DeepEqual(want, got) && strings.TrimSpace(n.Value) != strings.TrimSpace(again.Content[0].Value) {
				t.Errorf("%s:%d:%d: %q is %v, want %v", path, n.Line, n.Column, part, got, want)
			}
			checked++
		}
		for _, root := range roots {
			walk(root)
		}
	}
	err := filepath.WalkDir("../../../scenarios", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if files++; err == nil && files%4 == 0 {
			check(path, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	check("odd.yaml", []byte("a: {b: 'it''s', c: \"x\\\"}\", d: [1, # no ]\n  2]}\ne: |\n  text\n\n  more\n\nf: x\n  y\ng: \"ü\" # c\nh: {i: ü, j: 1}\nk: []\nl: { }\nm:\n- - 1\n  - 2\n"))
	if checked < 5000 {
		t.Errorf("only %d nodes were checked", checked)
	}
}
