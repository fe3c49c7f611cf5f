package leaktest_test

import (
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
)

func TestAGoroutineIsFoundUntilItEnds(t *testing.T) {
	if left := leaktest.Goroutines(); left != "" {
		t.Fatalf("before: %s", left)
	}
	end := make(chan struct{})
	go func() { <-end }()
	const creator = "leaktest_test.TestAGoroutineIsFoundUntilItEnds"
	if left := leaktest.Goroutines(); !strings.Contains(left, creator) {
		t.Errorf("it is not found: %q", left)
	}
	if left := leaktest.Goroutines(creator); left != "" {
		t.Errorf("what is excepted is found: %s", left)
	}
	close(end)
	if left := leaktest.Left(); left != "" {
		t.Errorf("it has ended: %s", left)
	}
}
