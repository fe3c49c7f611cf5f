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
	var check func(path string, of reflect.Type)
	check = func(path string, of reflect.Type) {
		if strings.Contains(of.PkgPath(), "fakecluster/internal/") {
			t.Errorf("%s is a %s", path, of)
		}
		if seen[of] || of.PkgPath() != "" && !strings.Contains(of.PkgPath(), "fakecluster/fakecluster/") {
			return
		}
		seen[of] = true
		for i := range of.NumMethod() {
			check(path+"."+of.Method(i).Name, of.Method(i).Type)
		}
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			check(path, of.Elem())
		case reflect.Struct:
			for i := range of.NumField() {
				if f := of.Field(i); f.IsExported() {
					check(path+"."+f.Name, f.Type)
				}
			}
		case reflect.Func:
			for i := range of.NumIn() {
				check(path, of.In(i))
			}
			for i := range of.NumOut() {
				check(path, of.Out(i))
			}
		}
	}
	check("Options", reflect.TypeFor[rest.Options]())
	check("Server", reflect.TypeFor[*rest.Server]())
	for _, of := range []reflect.Type{reflect.TypeFor[rest.Admission](), reflect.TypeFor[rest.AdmissionWrite]()} {
		if !seen[of] {
			t.Errorf("the test does not come to %s", of)
		}
	}
}
