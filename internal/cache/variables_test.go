package cache_test

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

	"github.com/google/go-cmp/cmp"
)

// TestNoPackageVariableChanges looks for assignments to package variables, and for package
// variables of types that are there to be changed. The caches are not such variables: doc.go
// lists them. CONTRIBUTING says why these settings of libraries are needed.
func TestNoPackageVariableChanges(t *testing.T) {
	want := []string{
		"clientgo sets utilruntime.ErrorHandlers",        // when the process starts
		"cmd/fakecluster sets utilruntime.ErrorHandlers", // in its own process
		"fakecluster sets tested",                        // the clusters whose tests run, which log a panic
		"fakecluster sets utilruntime.PanicHandlers",     // when the process starts
		"internal/bubble sets driven",                    // the bubbles whose time passes as something outside says
		"internal/bubble sets passings",                  // the bubbles whose time may pass without end
		"internal/bubble sets watched",                   // the bubbles whose time is checked
		"internal/builtin sets podstorage.EvictionsRetry",
		"internal/collector sets collector",                // how often the garbage collector runs while clusters live
		"internal/testing/seedtest has seeded, a sync.Map", // of tests
		"internal/write sets jsonpatch.AccumulatedCopySizeLimit",
		"workloads/internal/controlplane sets utilruntime.PanicHandlers", // when the process starts
		"workloads/internal/processwide sets utilruntime.ErrorHandlers",  // when the process starts
	}
	var got []string
	for folder, files := range sources(t) {
		variables := map[string]bool{}
		for _, file := range files {
			for _, spec := range packageVariables(file) {
				for _, name := range spec.Names {
					variables[name.Name] = name.Name != "_"
					if selector, ok := spec.Type.(*ast.SelectorExpr); ok && isChangeable(selector) {
						got = append(got, fmt.Sprintf("%s has %s, a %s.%s", folder, name.Name, selector.X, selector.Sel))
					}
				}
			}
		}
		for _, file := range files {
			for _, code := range codeIn(file) {
				for _, name := range changedIn(code, variables, importsOf(file)) {
					got = append(got, fmt.Sprintf("%s sets %s", folder, name))
				}
			}
		}
	}
	slices.Sort(got)
	got = slices.Compact(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("package variables that change (-want +got):\n%s", diff)
	}
}

// sources returns the files of the module by folder, without tests.
func sources(t *testing.T) map[string][]*ast.File {
	t.Helper()
	root := filepath.Join("..", "..")
	files := map[string][]*ast.File{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == filepath.Join(root, "remote") || slices.Contains([]string{".git", "testdata", "conformance", "benchmarks", "examples", "controllerruntime"}, d.Name())):
			return filepath.SkipDir // most are modules of their own
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		files[filepath.ToSlash(folder)] = append(files[filepath.ToSlash(folder)], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// packageVariables returns the declarations of package variables in a file.
func packageVariables(file *ast.File) (specs []*ast.ValueSpec) {
	for _, decl := range file.Decls {
		if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, spec := range g.Specs {
				specs = append(specs, spec.(*ast.ValueSpec))
			}
		}
	}
	return specs
}

// codeIn returns the functions of a file, and the initial values of its package variables.
func codeIn(file *ast.File) (code []ast.Node) {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			code = append(code, f)
		}
	}
	for _, spec := range packageVariables(file) {
		for _, value := range spec.Values {
			code = append(code, value)
		}
	}
	return code
}

// isChangeable reports whether values of a type are meant to be changed.
func isChangeable(selector *ast.SelectorExpr) bool {
	name := fmt.Sprintf("%s.%s", selector.X, selector.Sel)
	return strings.HasPrefix(name, "atomic.") || slices.Contains([]string{"sync.Map", "sync.Pool", "sync.Mutex", "sync.RWMutex", "sync.Once"}, name)
}

// importsOf returns the names under which a file imports packages.
func importsOf(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, imported := range file.Imports {
		name := filepath.Base(strings.Trim(imported.Path.Value, `"`))
		if imported.Name != nil {
			name = imported.Name.Name
		}
		names[name] = true
	}
	return names
}

// changedIn returns the package variables that code assigns to: those of its own package and
// those of others.
func changedIn(code ast.Node, variables, imports map[string]bool) (names []string) {
	local := localsOf(code)
	set := func(to ast.Expr) {
		if name := assigned(to, local, variables, imports); name != "" {
			names = append(names, name)
		}
	}
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, to := range n.Lhs {
					set(to)
				}
			}
		case *ast.IncDecStmt:
			set(n.X)
		case *ast.CallExpr:
			if function, ok := n.Fun.(*ast.Ident); ok && (function.Name == "delete" || function.Name == "clear") && len(n.Args) > 0 {
				set(n.Args[0])
			}
		}
		return true
	})
	return names
}

// localsOf returns the names that code declares, wherever they are in scope.
func localsOf(code ast.Node) map[string]bool {
	local := map[string]bool{}
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				local[name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				local[name.Name] = true
			}
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if id, ok := to.(*ast.Ident); ok && n.Tok == token.DEFINE {
					local[id.Name] = true
				}
			}
		case *ast.RangeStmt:
			for _, to := range []ast.Expr{n.Key, n.Value} {
				if id, ok := to.(*ast.Ident); ok && n.Tok == token.DEFINE {
					local[id.Name] = true
				}
			}
		}
		return true
	})
	return local
}

// assigned returns the package variable that an assignment to an expression changes, or the
// empty text.
func assigned(to ast.Expr, local, variables, imports map[string]bool) string {
	selected := ""
	for {
		switch changed := to.(type) {
		case *ast.SelectorExpr:
			to, selected = changed.X, changed.Sel.Name
		case *ast.IndexExpr:
			to = changed.X
		case *ast.StarExpr:
			to = changed.X
		case *ast.ParenExpr:
			to = changed.X
		case *ast.Ident:
			switch {
			case local[changed.Name]:
			case variables[changed.Name]:
				return changed.Name
			case imports[changed.Name] && selected != "":
				return changed.Name + "." + selected
			}
			return ""
		default:
			return ""
		}
	}
}
