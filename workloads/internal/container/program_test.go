package container

import (
	"slices"
	"testing"
)

// TestPathsOfMountedVolumes proves which words of a command line are paths on disk for a program.
func TestPathsOfMountedVolumes(t *testing.T) {
	f := folders{"/data": "/tmp/1", "/data/sub": "/tmp/2", "/dev/termination-log": "/tmp/own/termination-log"}
	for word, want := range map[string]string{
		"/data":                                  "/tmp/1",
		"/data/a":                                "/tmp/1/a",
		"/data/sub/a":                            "/tmp/2/a",
		"/database":                              "/database",
		"data/a":                                 "data/a",
		"--dir=/data/a":                          "--dir=/tmp/1/a",
		"--dir=/database":                        "--dir=/database",
		"NAME=a=/data":                           "NAME=a=/data",
		"--termination-log=/dev/termination-log": "--termination-log=/tmp/own/termination-log",
		"":                                       "",
	} {
		if got := f.inAll([]string{word}); !slices.Equal(got, []string{want}) {
			t.Errorf("%q becomes %q, want %q", word, got, want)
		}
	}
}
