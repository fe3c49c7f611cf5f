package player

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// An expression that goes through a large list for each of its items ends with an error, wherever it stands.
func TestExpressionsHaveABudget(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it processes ten million items seven times")
	}
	if seedtest.RaceDetector {
		t.Skip("ten million items of one goroutine take two minutes under the race detector, and it cannot find anything there")
	}
	items := make([]any, 20_000)
	for i := range items {
		items[i] = map[string]any{"metadata": map[string]any{"name": fmt.Sprint("c", i), "labels": map[string]any{"a": "b"}}}
	}
	list := Answer{Code: 200, Body: map[string]any{"items": items, "text": strings.Repeat("x", 1<<20)}}
	const over = "the expression exceeds its budget of 1000000 iterations and 10000000 processed items; avoid nested loops over a long list"
	for text, want := range map[string]string{
		"answer.items.all(i, i.metadata.labels.a == 'b' && i.metadata.name.startsWith('c'))":   "",
		"answer.items.map(i, i.metadata.name).filter(n, n.startsWith('c')).size() == 20000":    "",
		"answer.items.all(i, answer.items.all(j, i.metadata.name != 'x'))":                     over,
		"answer.items.map(i, i.metadata.name).distinct().size() == 20000":                      over,
		"answer.items.all(i, answer.merge({'a': 1}).a == 1)":                                   over,
		"answer.items.all(i, i in answer.items)":                                               over,
		"answer.items.all(i, string(i) != answer.text)":                                        over,
		"lists.range(5000).all(i, lists.range(5000).all(j, i >= answer.items.size() || true))": over,
	} {
		f := syntax.Parse("f.yaml", fmt.Appendf(nil, "scenario: s\nsteps:\n- list: {apiVersion: v1, kind: ConfigMap}\n  that: [%q]\n", text))
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		got, _ := evaluate(f.Scenarios[0].Steps[0].Expectation, list, nil)
		if want != "" {
			want = fmt.Sprintf("f.yaml:4: %s: %s", text, want)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
	f := syntax.Parse("f.yaml", []byte("scenario: s\nsteps:\n- list: {apiVersion: v1, kind: ConfigMap}\n  as: all\n- log: !cel all.items.filter(i, all.items.all(j, i.metadata.name != 'x')).size()\n"))
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := resolveRequest(f.Scenarios[0].Steps[1].Request, map[string]Answer{"all": list}); err == nil || !strings.HasSuffix(err.Error(), over) {
		t.Errorf("a computed value: %v", err)
	}
}
