package main

import (
	"regexp"
	"testing"
)

// A folder that is chosen brings its lines of the list with it, and no others.
func TestOnlyLinesOfChosenFoldersAreCompared(t *testing.T) {
	match := matches(regexp.MustCompile("cluster-api/core/"))
	for result, want := range map[string]bool{
		operators[0].name("core/webhooks") + ": TestA":         true,
		operators[0].name("core/reconcilers") + ": TestA/b: c": true,
		operators[0].name("util/patch") + ": TestA":            false,
		"other/util: TestA/cluster-api/core/":                  false,
	} {
		if match(result) != want {
			t.Errorf("%s: %t", result, !want)
		}
	}
}
