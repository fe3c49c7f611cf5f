package images

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"sync"

	"github.com/fakecluster/fakecluster/workloads"
)

// nettest counts the requests that it gets, by what they say about their source. It does not look for peers.
func nettest(ctx context.Context, c *workloads.ExecCommand) error {
	port := 8080
	if _, err := flagsOf(c, func(f *flag.FlagSet) { f.IntVar(&port, "port", port, "") }); err != nil {
		return err
	}
	var mu sync.Mutex
	received := map[string]int{}
	mux := http.NewServeMux()
	mux.HandleFunc("/read", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprint(w, asJSON(map[string]any{"Hostname": c.Container.Hostname, "Received": received}))
	})
	mux.HandleFunc("/write", func(w http.ResponseWriter, r *http.Request) {
		var post struct{ Source string }
		if err := json.NewDecoder(r.Body).Decode(&post); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		received[post.Source]++
		fmt.Fprint(w, asJSON(map[string]string{"Hostname": c.Container.Hostname}))
	})
	return serve(ctx, c.Container, port, mux)
}
