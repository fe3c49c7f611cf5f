package gotext

import (
	"encoding/json"
	"strings"
	"testing"
)

// The texts are those of encoding/json.
func TestTextsAreThoseOfThePackage(t *testing.T) {
	for body, want := range map[string]string{
		strings.Repeat("[", 10_001):               "invalid character '[' exceeded max depth",
		strings.Repeat(`{"a":`, 10_001):           "invalid character '{' exceeded max depth",
		"\ufeff{}":                                "invalid character 'ï' looking for beginning of value",
		`{"a":` + strings.Repeat("[", 100) + `no`: "invalid character 'o' in literal null (expecting 'u')",
	} {
		var into struct{ Kind string }
		if err := json.Unmarshal([]byte(body), &into); err == nil || err.Error() != JSON(want) {
			t.Errorf("%.20s: %v, want %s", body, err, JSON(want))
		}
	}
	if got, err := json.Marshal("\xff"); err != nil || string(got) != JSON(`"\ufffd"`) {
		t.Errorf("bytes that are not UTF-8: %s, %v, want %s", got, err, JSON(`"\ufffd"`))
	}
}
