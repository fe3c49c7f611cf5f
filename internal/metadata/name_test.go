package metadata

import (
	"strings"
	"testing"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

func TestNamesMatchUpstream(t *testing.T) {
	r := seedtest.Rand(t)
	checks := []struct {
		name     string
		quick    func(string) bool
		upstream func(string) []string
	}{
		{"subdomain", IsSubdomain, utilvalidation.IsDNS1123Subdomain},
		{"label", IsLabel, utilvalidation.IsDNS1123Label},
		{"label value", isLabelValue, utilvalidation.IsValidLabelValue},
		{"qualified name", isQualifiedName, func(s string) []string { return utilvalidation.IsQualifiedName(s) }},
	}
	valid := 0
	for range 40_000 {
		var s strings.Builder
		for range r.IntN(8) {
			s.WriteByte("abZ09-._/ä"[r.IntN(10)])
		}
		text := s.String()
		if r.IntN(20) == 0 {
			text = strings.Repeat("a", 60+r.IntN(8)) + text
		}
		for _, c := range checks {
			want := len(c.upstream(text)) == 0
			if want {
				valid++
			}
			if got := c.quick(text); got != want {
				t.Fatalf("%q as a %s: %v, upstream says %v", text, c.name, got, want)
			}
		}
	}
	if valid < 1000 {
		t.Fatalf("%d are valid: the test shows nothing", valid)
	}
}
