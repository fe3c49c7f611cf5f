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

func TestTheTestWithFakeclusterHasMorePackages(t *testing.T) {
	var counts []int
	for _, peer := range peers {
		n, err := countPackages("./" + peer)
		if err != nil {
			t.Fatal(err)
		}
		counts = append(counts, n)
	}
	if counts[0] < 500 || counts[1] < counts[0] {
		t.Errorf("packages of %v: %v", peers, counts)
	}
}

func TestTableOfWeights(t *testing.T) {
	got := table([]figures{
		{packages: 600, cold: 200 * time.Second, link: 2 * time.Second, size: 80e6, stripped: 60e6, edit: 4 * time.Second, unvetted: 3 * time.Second},
		{packages: 1500, cold: 400 * time.Second, link: 5 * time.Second, size: 160e6, stripped: 90e6, edit: 3 * time.Second, unvetted: 1500 * time.Millisecond},
	})
	_, got, _ = strings.Cut(got, "\n\n")
	want := `| a test with controller-runtime and | envtest | fakecluster | ratio |
|---|---|---|---|
| packages outside the standard library | 600 | 1500 | 2.5 |
| compile and link from an empty cache, processor time | 200 s | 400 s | 2.0 |
| link, as go test does it, processor time | 2.0 s | 5.0 s | 2.5 |
| test binary of go test -c | 80 MB | 160 MB | 2.0 |
| test binary of go test -c -ldflags='-s -w' | 60 MB | 90 MB | 1.5 |
| from an edit to the result | 4.0 s | 3.0 s | 0.8 |
| from an edit to the result, go test -vet=off | 3.0 s | 1.5 s | 0.5 |
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
