package packages

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPathsThroughTheCodeExist proves that the declarations exist that CONTRIBUTING names as steps of a path.
func TestPathsThroughTheCodeExist(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, paths, _ := strings.Cut(string(text), "## Paths through the code")
	paths, _, _ = strings.Cut(paths, "\n## ")
	steps := regexp.MustCompile("`([^` ]+\\.go):([^`]+)`").FindAllStringSubmatch(paths, -1)
	if len(steps) == 0 {
		t.Fatal("there are no paths")
	}
	for _, step := range steps {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, step[1]), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", step[0], err)
			continue
		}
		if !slices.Contains(declarations(file), step[2]) {
			t.Errorf("%s does not declare %s", step[1], step[2])
		}
	}
}

// declarations returns the names of the functions, types and variables of a file; those of methods are TYPE.METHOD.
func declarations(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				receiver := d.Recv.List[0].Type
				if pointer, ok := receiver.(*ast.StarExpr); ok {
					receiver = pointer.X
				}
				name = fmt.Sprint(receiver, ".", name)
			}
			names = append(names, name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}
