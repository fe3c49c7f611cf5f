package controller

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A fork does not have the alarms of its origin, and sets its own for the servers in pods.
func TestForkChecksServersInPodsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var checked []key
		c := apiServiceAvailability()
		c.sync = func(_ *step, k key) error {
			checked = append(checked, k)
			return nil
		}
		cs, _ := reporting(c)
		defer cs.Close()
		cs.server.InPods = func() []string { return []string{"v1.metrics.k8s.io"} }
		if err := cs.Resume(t.Context(), nil, 5, 5); err != nil {
			t.Fatal(err)
		}
		if len(checked) > 0 {
			t.Errorf("%v is checked while the fork is made", checked)
		}
		time.Sleep(recheckedAfter)
		synctest.Wait()
		if want := []key{{name: "v1.metrics.k8s.io"}}; !slices.Equal(checked, want) {
			t.Errorf("checked %v, want %v", checked, want)
		}
	})
}
