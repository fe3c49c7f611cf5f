package serverflags

import (
	"strings"
	"testing"
)

// Upstream's readers of some flags read a file to its end, which /dev/zero does not have.
func TestFilesWithoutAnEndAreRefused(t *testing.T) {
	tried := 0
	for _, f := range Table {
		if f.Refused != "" || f.Name == "runtime-config" || !strings.HasSuffix(f.Name, "-file") && !strings.HasSuffix(f.Name, "-config") {
			continue
		}
		tried++
		want := "--" + f.Name + ": /dev/zero is not a regular file"
		if _, err := NewConfig([]string{"--" + f.Name + "=/dev/zero"}, Options{}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if tried < 15 {
		t.Errorf("%d flags have files", tried)
	}
}
