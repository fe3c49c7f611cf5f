package main

import (
	"os"
	"testing"
)

// TestMain makes the test binary a world when the comparison starts it as one.
func TestMain(m *testing.M) {
	if name := os.Getenv(worldVariable); name != "" {
		inTest(name)
		return
	}
	os.Exit(m.Run())
}

func TestTheAgentTreatsPodsAsTheKubelet(t *testing.T) {
	if f, err := os.Open("/dev/kmsg"); err != nil {
		t.Skipf("a kubelet reads the log of the kernel when it starts: %v", err)
	} else if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	pods, err := choose("", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	r, err := compare(t.Context(), 1, pods, func(d difference) {
		if d.reason == nil {
			t.Errorf("p%d %s-- kubelet\n%s-- agent\n%s", d.pod, d, d.kubelet, d.agent)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r.summary())
	if most := 10; len(r.differ) > most {
		t.Errorf("%d pods differ, which is more than %d", len(r.differ), most)
	}
}
