package policy_test

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// errorList says of each text that a client can be refused with, on account of a
// policy or of what one may be, which file pins it.
const errorList = "testdata/errors.txt"

// sources are the packages whose texts those are.
var sources = []string{".", "../../builtin/admissionregistration"}

// root is the folder that the files in the list are named from.
const root = "../../.."

func TestEveryErrorTextIsPinned(t *testing.T) {
	listed := map[string]bool{}
	for _, line := range readErrorList(t) {
		text, file, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("%s: a line is a text, a tab and a file: %q", errorList, line)
		}
		listed[text] = true
		if file == "-" {
			continue
		}
		pins, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, part := range parts(text) {
			if !strings.Contains(unescaped(string(pins)), part) {
				t.Errorf("%s does not pin %q: there is no %q in it", file, text, part)
			}
		}
	}
	for _, text := range textsIn(t, sources) {
		if !listed[text] {
			t.Errorf("%s does not have %q", errorList, text)
		}
	}
}

func readErrorList(t *testing.T) (lines []string) {
	t.Helper()
	f, err := os.Open(errorList)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for scanner := bufio.NewScanner(f); scanner.Scan(); {
		if line := scanner.Text(); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

var verb = regexp.MustCompile(`%[a-z]`)

// parts are what is fixed of a text.
func parts(text string) (all []string) {
	for _, part := range verb.Split(text, -1) {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

// unescaped undoes what YAML and Go do to quotes.
func unescaped(text string) string { return strings.ReplaceAll(text, `\"`, `"`) }

// textsIn are the strings of several words in the code of the packages.
func textsIn(t *testing.T, folders []string) (texts []string) {
	t.Helper()
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", folder, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr: // what is logged is no answer
					if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "ErrorS" {
						return false
					}
				case *ast.Field:
					return n.Tag == nil
				case *ast.BasicLit:
					if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && strings.Contains(strings.TrimSpace(text), " ") {
						texts = append(texts, strings.TrimSpace(text))
					}
				}
				return true
			})
		}
	}
	return texts
}
