package remote

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

// names returns the exported options and the methods of Cluster in a folder.
func names(t *testing.T, folder string) (options, methods map[string]bool) {
	t.Helper()
	packages, err := parser.ParseDir(token.NewFileSet(), folder, func(info os.FileInfo) bool { return !strings.HasSuffix(info.Name(), "_test.go") }, 0)
	if err != nil {
		t.Fatal(err)
	}
	options, methods = map[string]bool{}, map[string]bool{}
	for _, p := range packages {
		for _, file := range p.Files {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || !f.Name.IsExported() {
					continue
				}
				if f.Recv != nil {
					star, _ := f.Recv.List[0].Type.(*ast.StarExpr)
					if star != nil && star.X.(*ast.Ident).Name == "Cluster" {
						methods[f.Name.Name] = true
					}
				} else if r := f.Type.Results; r != nil && len(r.List) == 1 {
					if id, ok := r.List[0].Type.(*ast.Ident); ok && id.Name == "Option" {
						options[strings.TrimPrefix(f.Name.Name, "With")] = true
					}
				}
			}
		}
	}
	return options, methods
}

// Each option and each method of package fakecluster is here, or docs/remote.md lists it as missing.
func TestNamesAreThoseOfFakecluster(t *testing.T) {
	text, err := os.ReadFile("../docs/remote.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### What is missing\n")
	section, _, _ = strings.Cut(section, "\n## ")
	missing := map[string]bool{}
	for _, name := range regexp.MustCompile("`(?:With)?(\\w+)(?:\\(\\))?`").FindAllStringSubmatch(section, -1) {
		missing[name[1]] = true
	}
	wantOptions, wantMethods := names(t, "../fakecluster")
	options, methods := names(t, ".")
	for what, sets := range map[string][2]map[string]bool{"option": {wantOptions, options}, "method": {wantMethods, methods}} {
		for name := range sets[0] {
			has := sets[1][name] || what == "option" && sets[1]["Without"+name] || strings.HasPrefix(name, "out") && sets[1]["With"+name]
			if !has && !missing[name] {
				t.Errorf("the %s %s is neither here nor listed as missing in docs/remote.md", what, name)
			}
			if has && missing[name] {
				t.Errorf("docs/remote.md lists the %s %s as missing, and it is here", what, name)
			}
		}
	}
}
