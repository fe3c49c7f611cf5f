package main

import (
	"slices"
	"strings"
	"testing"
)

// Each reason is explained at the head of the lists, and nothing else is.
func TestEachReasonIsExplained(t *testing.T) {
	_, text, _ := strings.Cut(olderComment, "The reasons:\n")
	var explained []string
	for line := range strings.Lines(text) {
		if names, _, found := strings.Cut(line, ": "); found {
			explained = append(explained, strings.Split(names, "; ")...)
		}
	}
	for _, r := range reasons {
		if !slices.Contains(explained, r.reason) {
			t.Errorf("%q is not explained", r.reason)
		}
	}
	for _, name := range explained {
		if !slices.ContainsFunc(reasons, func(r reason) bool { return r.reason == name }) {
			t.Errorf("%q is explained, and nothing has this reason", name)
		}
	}
}
