package authentication_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
)

// A file that is written twice in a moment may look the same each time, except for its content.
func TestAnAuthorityFileThatLooksTheSame(t *testing.T) {
	path, modified := filepath.Join(t.TempDir(), "ca.crt"), time.Now()
	write := func(content string) string {
		t.Helper()
		content += strings.Repeat("\n", 2048-len(content))
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, modified, modified); err != nil {
			t.Fatal(err)
		}
		return content
	}
	bundle := func() string {
		authority, err := authentication.NewAuthority("suite")
		if err != nil {
			t.Fatal(err)
		}
		return string(authority.PEM())
	}
	write(bundle())
	file, err := authentication.ReadAuthorities(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := write(bundle()); file.Bundle() != want {
		t.Error("the first content is still there")
	}
}
