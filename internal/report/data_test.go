package report

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAFileNameFitsAFileSystem(t *testing.T) {
	for _, test := range []string{"TestA/b c", strings.Repeat("ж", 200)} {
		if name := FileName("x", test); len(name) > 200 || !utf8.ValidString(name) || strings.ContainsAny(name, "/ ") {
			t.Errorf("%q has %d bytes", name, len(name))
		}
	}
}
