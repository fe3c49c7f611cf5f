package admission_test

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

// root is the folder of the module.
const root = "../.."

// sources are the files whose refusals reach clients.
var sources = []string{
	"rest/admission/*.go", "rest/admission/webhook/*.go", "rest/builtin/webhookvalidation.go", "rest/deadline.go",
	"rest/admit.go", "fakecluster/admission.go",
}

// policies are the packages of admission policies, where every text is one, but for
// what is logged.
var policies = []string{"rest/admission/policy/*.go", "rest/builtin/admissionregistration/*.go"}

// internal are texts in them that no client sees.
var internal = map[string]bool{
	"reading %s: %w": true,

	"admission request denied by policy": true, // which the text of the policy replaces
	"making a compiler for expressions":  true,
	"fail to build env: %v":              true,
	"%v: type checking error: %v":        true,
	"no schema is published of the kind": true,
}

// pin is a line of testdata/errors.txt.
type pin struct{ text, file string }

func readPins(t *testing.T) []pin {
	t.Helper()
	f, err := os.Open("testdata/errors.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var pins []pin
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			file, text, ok := strings.Cut(line, "\t")
			if !ok {
				t.Fatalf("no tab in %q", line)
			}
			pins = append(pins, pin{text, file})
		}
	}
	return pins
}

// TestEveryErrorTextIsPinned holds the list of the error texts of admission against
// the code that makes them and the tests that pin them.
func TestEveryErrorTextIsPinned(t *testing.T) {
	pins := readPins(t)
	listed := map[string]bool{}
	for _, p := range pins {
		listed[p.text] = true
		content, err := os.ReadFile(filepath.Join(root, p.file))
		if err != nil {
			t.Errorf("%q: %v", p.text, err)
			continue
		}
		if part := longestPart(p.text); !strings.Contains(unquoted(string(content)), unquoted(part)) {
			t.Errorf("%q: %s does not have %q", p.text, p.file, part)
		}
	}
	for _, text := range textsIn(t) {
		if !listed[text] {
			t.Errorf("the list has no %q", text)
		}
	}
}

// verb is a place in a text that something is put into.
var verb = regexp.MustCompile(`%[a-z+]`)

func longestPart(text string) (longest string) {
	for _, part := range verb.Split(text, -1) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// unquoted is a text without what YAML and Go escape.
func unquoted(text string) string {
	return strings.NewReplacer("'", "", `"`, "", `\`, "", "`", "").Replace(text)
}

// textsIn are the texts of more than one word that the sources make errors of, and
// those of the policies.
func textsIn(t *testing.T) (texts []string) {
	t.Helper()
	eachFile(t, sources, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && makesErrors(call) {
			texts = append(texts, literals(call)...)
		}
		return true
	})
	eachFile(t, policies, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			return !ok || f.Sel.Name != "ErrorS"
		case *ast.Field:
			return n.Tag == nil
		case *ast.BasicLit:
			if text, ok := literal(n); ok {
				texts = append(texts, strings.TrimSpace(text))
			}
		}
		return true
	})
	if len(texts) == 0 {
		t.Fatal("no texts in the sources")
	}
	return texts
}

// eachFile walks through the files of the patterns that are no tests.
func eachFile(t *testing.T, patterns []string, visit func(ast.Node) bool) {
	t.Helper()
	files := token.NewFileSet()
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v, %v", pattern, paths, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, visit)
		}
	}
}

// makesErrors tells whether a call makes an error of a text.
func makesErrors(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := f.X.(*ast.Ident)
	if !ok {
		return false
	}
	switch of.Name {
	case "errors":
		return f.Sel.Name == "New"
	case "fmt":
		return f.Sel.Name == "Errorf" || f.Sel.Name == "Sprintf"
	case "field", "apierrors":
		return true
	}
	return false
}

// literals are the texts of more than one word among the arguments.
func literals(call *ast.CallExpr) (texts []string) {
	for _, arg := range call.Args {
		ast.Inspect(arg, func(n ast.Node) bool {
			if _, nested := n.(*ast.CallExpr); nested {
				return false // it is looked at for itself
			}
			if lit, ok := n.(*ast.BasicLit); ok {
				if text, ok := literal(lit); ok {
					texts = append(texts, text)
				}
			}
			return true
		})
	}
	return texts
}

// literal is a text of more than one word that a client may see.
func literal(lit *ast.BasicLit) (string, bool) {
	text, err := strconv.Unquote(lit.Value)
	return text, lit.Kind == token.STRING && err == nil && strings.Contains(strings.TrimSpace(text), " ") && !internal[strings.TrimSpace(text)]
}
