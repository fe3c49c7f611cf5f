// Code generated from internal/callers/callers.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

// Package callers finds the line of code that does something, past the libraries that it calls.
package callers

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Current returns the callers of the function that calls it.
func Current() []uintptr {
	counters := make([]uintptr, 96)
	return counters[:runtime.Callers(3, counters)]
}

// libraries are the prefixes of packages that are not code of an operator.
var libraries = []string{"k8s.io/", "sigs.k8s.io/", "net/http", "runtime.", "runtime/", "panic", "testing.", "sync.", "sync/", "golang.org/", "github.com/fakecluster/fakecluster/explore.",
	"github.com/fakecluster/fakecluster/clientgo.", "github.com/fakecluster/fakecluster/fakecluster.", "github.com/fakecluster/fakecluster/controllerruntime.",
	"github.com/fakecluster/fakecluster/remote.", "github.com/fakecluster/fakecluster/remote/explore."}

// isLibrary reports whether a function belongs to a library.
func isLibrary(function string) bool {
	return slices.ContainsFunc(libraries, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}

// Line returns the file and the line of the innermost caller that does not belong to a library, or "".
func Line(counters []uintptr) string {
	frames := runtime.CallersFrames(counters)
	for {
		f, more := frames.Next()
		if f.Function != "" && !isLibrary(f.Function) {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

var stackLine = regexp.MustCompile(`(?m)^([^\s(]+)[^\n]*\n\t(\S+):(\d+)`)

// LineOfStack does the same for a stack in text form.
func LineOfStack(stack string) string {
	for _, m := range stackLine.FindAllStringSubmatch(stack, -1) {
		if !isLibrary(m[1]) && !strings.HasPrefix(m[1], "internal/") {
			return filepath.Base(m[2]) + ":" + m[3]
		}
	}
	return ""
}

// EntryOfStack returns the outermost function of a stack that does not belong to a library, or "". The code of the
// operator begins there. Unlike the innermost function of a loop, it is the same at any moment.
func EntryOfStack(stack string) (entry string) {
	for _, line := range strings.Split(stack, "\n") {
		end := strings.LastIndexByte(line, '(')
		if end < 0 || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "created by ") || strings.HasPrefix(line, "goroutine ") || isLibrary(line) || strings.HasPrefix(line, "internal/") {
			continue
		}
		entry = line[:end]
	}
	return entry
}
