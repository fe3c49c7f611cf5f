package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheTimeOfALinkIsThatOfItsAction(t *testing.T) {
	file := filepath.Join(t.TempDir(), "actions.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`[{"Mode":"build","CmdUser":5000000000},{"Mode":"link","CmdReal":3000000000,"CmdUser":2000000000,"CmdSys":500000000}]`)
	got, err := linkTime(file)
	if want := 2500 * time.Millisecond; got != want || err != nil {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	write(`[{"Mode":"build","CmdUser":5000000000}]`)
	if _, err := linkTime(file); err == nil {
		t.Error("a link that was cached is not an error")
	}
}

func TestPackagesOfTheTests(t *testing.T) {
	counts := map[string]int{}
	for _, peer := range peers {
		n, err := countPackages("./" + peer)
		if err != nil {
			t.Fatal(err)
		}
		counts[peer] = n
	}
	if counts["alone"] < 400 || counts["remote"] > counts["envtest"] || counts["bubble"] > counts["remote"] || counts["fakecluster"] < 2*counts["remote"] {
		t.Errorf("packages: %v", counts)
	}
}

func TestTableOfWeights(t *testing.T) {
	got := table([]figures{
		{packages: 500, cold: 190 * time.Second, link: time.Second, size: 70e6, stripped: 50e6, edit: 1040 * time.Millisecond, unvetted: 700 * time.Millisecond},
		{packages: 510, cold: 190 * time.Second, link: time.Second, size: 70e6, stripped: 50e6, edit: 1080 * time.Millisecond, unvetted: 720 * time.Millisecond},
		{packages: 505, cold: 190 * time.Second, link: time.Second, size: 70e6, stripped: 50e6, edit: 1060 * time.Millisecond, unvetted: 710 * time.Millisecond},
		{packages: 600, cold: 200 * time.Second, link: 2 * time.Second, size: 80e6, stripped: 60e6, edit: 4 * time.Second, unvetted: 3 * time.Second},
		{packages: 1500, cold: 400 * time.Second, link: 5 * time.Second, size: 160e6, stripped: 90e6, edit: 3 * time.Second, unvetted: 1500 * time.Millisecond},
	})
	_, got, _ = strings.Cut(got, "\n\n")
	want := `| a test with controller-runtime and | alone | remote | bubble | envtest | fakecluster |
|---|---|---|---|---|---|
| packages outside the standard library | 500 | 510 | 505 | 600 | 1500 |
| compile and link from an empty cache, processor time | 190 s | 190 s | 190 s | 200 s | 400 s |
| link, as go test does it, processor time | 1.0 s | 1.0 s | 1.0 s | 2.0 s | 5.0 s |
| test binary of go test -c | 70 MB | 70 MB | 70 MB | 80 MB | 160 MB |
| test binary of go test -c -ldflags='-s -w' | 50 MB | 50 MB | 50 MB | 60 MB | 90 MB |
| from an edit to the result | 1.04 s | 1.08 s | 1.06 s | 4.00 s | 3.00 s |
| from an edit to the result, go test -vet=off | 0.70 s | 0.72 s | 0.71 s | 3.00 s | 1.50 s |
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
