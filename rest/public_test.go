package rest_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/rest"
)

// Who imports package rest can name each type that it needs.
func TestWhatIsExportedNeedsNoInternalType(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var check func(path string, typ reflect.Type)
	check = func(path string, typ reflect.Type) {
		if strings.Contains(typ.PkgPath(), "fakecluster/internal/") {
			t.Errorf("%s is a %s", path, typ)
		}
		if seen[typ] || typ.PkgPath() != "" && !strings.Contains(typ.PkgPath(), "fakecluster/fakecluster/") {
			return
		}
		seen[typ] = true
		for i := range typ.NumMethod() {
			check(path+"."+typ.Method(i).Name, typ.Method(i).Type)
		}
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			check(path, typ.Elem())
		case reflect.Struct:
			for i := range typ.NumField() {
				if f := typ.Field(i); f.IsExported() {
					check(path+"."+f.Name, f.Type)
				}
			}
		case reflect.Func:
			for i := range typ.NumIn() {
				check(path, typ.In(i))
			}
			for i := range typ.NumOut() {
				check(path, typ.Out(i))
			}
		}
	}
	check("Options", reflect.TypeFor[rest.Options]())
	check("Server", reflect.TypeFor[*rest.Server]())
	for _, typ := range []reflect.Type{reflect.TypeFor[rest.Admission](), reflect.TypeFor[rest.AdmissionWrite]()} {
		if !seen[typ] {
			t.Errorf("the test does not come to %s", typ)
		}
	}
}
