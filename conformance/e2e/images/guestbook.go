package images

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/fakecluster/fakecluster/workloads"
)

// book is a store of a guestbook, and the Pods that have copies of it.
type book struct {
	*workloads.Container
	backend int // the port of stores

	mu       sync.Mutex
	entries  map[string]string
	replicas []string
}

// guestbook is the frontend of a guestbook, its store, or a copy of the store.
func guestbook(ctx context.Context, c *workloads.ExecCommand) error {
	b := &book{Container: c.Container, entries: map[string]string{}}
	var port int
	var primary string
	if _, err := flagsOf(c, func(f *flag.FlagSet) {
		f.IntVar(&port, "http-port", 80, "")
		f.IntVar(&b.backend, "backend-port", 6379, "")
		f.StringVar(&primary, "replicaof", "", "")
	}); err != nil {
		return err
	}
	if primary != "" {
		if err := b.register(ctx, primary); err != nil {
			return err
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.replicas = append(b.replicas, r.FormValue("host"))
		fmt.Fprint(w, asJSON(map[string]any{"data": b.entries}))
	})
	mux.HandleFunc("/get", func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if key := r.FormValue("key"); key != "" {
			fmt.Fprint(w, asJSON(map[string]any{"data": b.entries[key]}))
			return
		}
		fmt.Fprint(w, asJSON(map[string]any{"data": b.entries}))
	})
	mux.HandleFunc("/set", b.set)
	mux.HandleFunc("/guestbook", b.front)
	return serve(ctx, c.Container, port, mux)
}

// register makes the Pod a copy of the store of another one, which may not serve yet.
func (b *book) register(ctx context.Context, primary string) error {
	for {
		text, err := b.ask(ctx, primary, "register", url.Values{"host": {b.IP}})
		var answer struct{ Data map[string]string }
		if err == nil {
			if err = json.Unmarshal([]byte(text), &answer); err == nil {
				maps.Copy(b.entries, answer.Data)
				return nil
			}
		}
		fmt.Fprintln(b.Stderr, "encountered error while registering to primary:", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// set stores an entry, also in the copies.
func (b *book) set(w http.ResponseWriter, r *http.Request) {
	key, value := r.FormValue("key"), r.FormValue("value")
	if key == "" {
		http.Error(w, "cannot set with empty key.", http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	b.entries[key] = value
	replicas := b.replicas
	b.mu.Unlock()
	for _, replica := range replicas {
		if _, err := b.ask(r.Context(), replica, "set", r.Form); err != nil {
			http.Error(w, fmt.Sprintf("encountered error while propagating to replica '%s': %v", replica, err), http.StatusExpectationFailed)
			return
		}
	}
	fmt.Fprint(w, asJSON(map[string]string{"message": "Updated"}))
}

// front passes a request on, to the store or to a copy.
func (b *book) front(w http.ResponseWriter, r *http.Request) {
	host := map[string]string{"get": "agnhost-replica", "set": "agnhost-primary"}[r.FormValue("cmd")]
	if host == "" {
		http.Error(w, fmt.Sprintf("unsupported cmd: '%s'", r.FormValue("cmd")), http.StatusBadRequest)
		return
	}
	text, err := b.ask(r.Context(), host, r.FormValue("cmd"), url.Values{"key": {r.FormValue("key")}, "value": {r.FormValue("value")}})
	if err != nil {
		http.Error(w, fmt.Sprintf("encountered error: %v", err), http.StatusExpectationFailed)
		return
	}
	fmt.Fprint(w, text)
}

// ask sends a request to a store.
func (b *book) ask(ctx context.Context, host, path string, query url.Values) (string, error) {
	client := b.HTTPClient()
	client.Timeout = 5 * time.Second
	defer client.CloseIdleConnections()
	return get(ctx, client, "http://"+net.JoinHostPort(host, strconv.Itoa(b.backend))+"/"+path+"?"+query.Encode())
}
