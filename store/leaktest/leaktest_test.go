package leaktest_test

import (
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/store/leaktest"
)

func waitFor(end chan struct{}) { <-end }

func TestAGoroutineIsFoundUntilItEnds(t *testing.T) {
	if left := leaktest.Goroutines(); left != "" {
		t.Fatalf("before: %s", left)
	}
	end := make(chan struct{})
	go waitFor(end)
	if left := leaktest.Goroutines(); !strings.Contains(left, "leaktest_test.waitFor") {
		t.Errorf("it is not found: %q", left)
	}
	if left := leaktest.Goroutines("leaktest_test.waitFor"); left != "" {
		t.Errorf("what is excepted is found: %s", left)
	}
	close(end)
	if left := leaktest.Left(); left != "" {
		t.Errorf("it has ended: %s", left)
	}
}
