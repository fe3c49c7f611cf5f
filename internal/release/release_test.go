package release

import (
	"os"
	"strings"
	"testing"

	utilversion "k8s.io/apimachinery/pkg/util/version"
)

func TestLibrariesAreThoseOfTheModule(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\tk8s.io/kubernetes "+Libraries+"\n") {
		t.Errorf("go.mod does not require k8s.io/kubernetes %s: change Libraries", Libraries)
	}
	if v := utilversion.MustParse(Libraries); v.Major() != newest.Major() || v.Minor() != newest.Minor() {
		t.Errorf("Libraries is %s, and k8s.io/component-base is of %s", Libraries, newest)
	}
}
