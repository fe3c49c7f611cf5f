package controller

import (
	"testing"
	"testing/synctest"
	"time"
)

// A fork does not have the alarms of its origin, and sets its own for the servers in pods.
func TestForkChecksServersInPodsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		checked := make(chan key, 2)
		c := apiServiceAvailability()
		c.sync = func(_ *step, k key) error {
			checked <- k
			return nil
		}
		cs, _ := reporting(c)
		defer cs.Close()
		cs.server.InPods = func() []string { return []string{"v1.metrics.k8s.io"} }
		if err := cs.Resume(t.Context(), nil, 5, 5); err != nil {
			t.Fatal(err)
		}
		if n := len(checked); n > 0 {
			t.Errorf("%d are checked while the fork is made", n)
		}
		time.Sleep(recheckedAfter)
		synctest.Wait()
		if n := len(checked); n != 1 {
			t.Fatalf("%d are checked, want 1", n)
		}
		if k, want := <-checked, (key{name: "v1.metrics.k8s.io"}); k != want {
			t.Errorf("checked %v, want %v", k, want)
		}
	})
}
