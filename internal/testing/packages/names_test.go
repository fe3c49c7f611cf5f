package packages

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// emptyNames say nothing of what they name, so that a reader has to look at the type.
var emptyNames = []string{"of", "is", "was", "all", "at"}

// maxEmptyNames is how many declarations of this repository, with those of its tests, still have such a name. The number may only fall.
const maxEmptyNames = 6

// TestFewDeclarationsHaveEmptyNames counts fields, parameters, variables, functions and types. Those of testdata do not count.
func TestFewDeclarationsHaveEmptyNames(t *testing.T) {
	count := 0
	found := map[string]int{} // by folder
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		n, err := countEmptyNames(path)
		count += n
		found[filepath.Dir(path)] += n
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case count > maxEmptyNames:
		t.Errorf("%d declarations are called %s, and only %d were: give the new ones the name of what they hold", count, strings.Join(emptyNames, ", "), maxEmptyNames)
	case count < maxEmptyNames:
		t.Errorf("%d declarations are called %s: set maxEmptyNames to that number", count, strings.Join(emptyNames, ", "))
	}
	if t.Failed() {
		for folder, n := range found {
			if n > 0 {
				t.Logf("%s: %d", folder, n)
			}
		}
	}
}

// countEmptyNames counts the declarations of a file whose names say nothing.
func countEmptyNames(path string) (count int, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return 0, fmt.Errorf("reading declarations: %w", err)
	}
	declared := func(names ...ast.Expr) {
		for _, name := range names {
			if id, ok := name.(*ast.Ident); ok && slices.Contains(emptyNames, id.Name) {
				count++
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				declared(name)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				declared(name)
			}
		case *ast.FuncDecl:
			declared(n.Name)
		case *ast.TypeSpec:
			declared(n.Name)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				declared(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				declared(n.Key, n.Value)
			}
		}
		return true
	})
	return count, nil
}
