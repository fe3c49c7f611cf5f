package fakecluster_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/testing/consistency"
)

// If a watch is so slow that the history does not reach back to its last event any more, it ends
// with an ERROR event, in every view. The history of its definition has been forgotten too, which
// makes no difference.
func TestAWatchThatHasFallenBehindTheHistoryEndsWithExpired(t *testing.T) {
	for _, c := range []struct{ view, version, accept string }{
		{"as stored", "v1", ""},
		{"in another version", "v2", ""},
		{"as Tables", "v1", "application/json;as=Table;g=meta.k8s.io;v=v1"},
		{"partial", "v1", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"},
	} {
		t.Run(c.view, func(t *testing.T) {
			cluster := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithWatchHistory(10, 0))
			define(t, cluster, consistency.Definition())
			w := newWire(t, cluster)
			create := func(name, fill string) {
				t.Helper()
				body := fmt.Sprintf(`{"apiVersion":"reads.example.com/v1","kind":"Sample","metadata":{"name":%q,"annotations":{"fill":%q}}}`, name, fill)
				code, answer, err := w.Send(t.Context(), http.MethodPost, consistency.Path+"/namespaces/default/samples", "application/json", body)
				must(t, err)
				equal(t, "create: "+answer, code, http.StatusCreated)
			}
			resp, err := w.Open(t.Context(), http.MethodGet, consistency.GroupPath+c.version+"/samples?watch=1", "", c.accept, "")
			must(t, err)
			defer resp.Body.Close()

			// The server waits until the client has read all of this large event.
			create("large", strings.Repeat("x", 200_000))
			lines := bufio.NewReader(resp.Body)
			_, err = lines.Peek(1)
			must(t, err)
			for n := range 20 {
				create(nameOf(n), "")
			}
			first, err := lines.ReadString('\n')
			must(t, err)
			equal(t, "the event before", strings.HasPrefix(first, `{"type":"ADDED","object":{`) && strings.Contains(first, `"name":"large"`), true)
			rest, err := io.ReadAll(lines)
			must(t, err)
			equal(t, "the end", regexp.MustCompile(`\d+ \(\d+\)`).ReplaceAllString(string(rest), "R (O)"),
				`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: R (O)","reason":"Expired","code":410}}`+"\n")
		})
	}
}
