package description_test

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// These files have the types of an exploration of an operator. Module remote has its own, because an operator gets another type of cluster there.
const here, there = "../../explore/subject.go", "../../remote/explore/subject.go"

// different are fields whose comments differ, because module remote has no exploration in real time.
var different = map[string]bool{"Subject.Trials": true}

// TestRemoteHasTheComments fails if a field of the same name and type has another comment in module remote.
func TestRemoteHasTheComments(t *testing.T) {
	want, got := fieldsOf(t, here), fieldsOf(t, there)
	same := 0
	for name, field := range got {
		one, ok := want[name]
		if !ok || one.typ != field.typ || different[name] {
			continue
		}
		same++
		if text := strings.ReplaceAll(one.comment, "fakecluster.WithManifests", "remote.Manifests"); text != field.comment {
			t.Errorf("%s: the comment in remote/explore is\n%swant\n%s", name, field.comment, text)
		}
	}
	if same < 20 {
		t.Errorf("%d fields are compared", same)
	}
}

// commented is a field of a struct.
type commented struct{ typ, comment string }

// fieldsOf returns the exported fields of the structs of a file, by the names of both.
func fieldsOf(t *testing.T, path string) map[string]commented {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]commented{}
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.TYPE {
			continue
		}
		for _, s := range decl.Specs {
			spec := s.(*ast.TypeSpec)
			structure, ok := spec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, f := range structure.Fields.List {
				var typ strings.Builder
				if err := format.Node(&typ, files, f.Type); err != nil {
					t.Fatal(err)
				}
				for _, name := range f.Names {
					if name.IsExported() {
						found[spec.Name.Name+"."+name.Name] = commented{typ.String(), f.Doc.Text()}
					}
				}
			}
		}
	}
	return found
}
