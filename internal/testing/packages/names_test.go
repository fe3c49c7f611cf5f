package packages

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
)

// emptyNames say nothing of what they name, so that a reader has to look at the type.
var emptyNames = []string{"of", "is", "was", "all", "at"}

// TestNoDeclarationHasAnEmptyName reads fields, parameters, variables, functions and types, of tests too. Those of testdata do not count.
func TestNoDeclarationHasAnEmptyName(t *testing.T) {
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
		found, err := findEmptyNames(path)
		for _, declaration := range found {
			t.Errorf("%s: give this the name of what it holds", declaration)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// findEmptyNames returns the declarations of a file whose names say nothing, with their lines.
func findEmptyNames(path string) (found []string, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("reading declarations: %w", err)
	}
	declared := func(names ...ast.Expr) {
		for _, name := range names {
			if id, ok := name.(*ast.Ident); ok && slices.Contains(emptyNames, id.Name) {
				found = append(found, fmt.Sprintf("%s: %s", files.Position(id.Pos()), id.Name))
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
	return found, nil
}
