package main

import (
	"regexp"
	"testing"
)

// TestParts is "go run ." for those who look for tests, one part at a time:
//
//	go test . -run TestParts/upstream -v
func TestParts(t *testing.T) {
	if testing.Short() {
		t.Skip("the parts take minutes")
	}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			if err := p.check(t.Context(), t.Output(), regexp.MustCompile(""), false); err != nil {
				t.Error(err)
			}
		})
	}
}
