package images

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
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

// wget prints what an address answers to a GET or a POST request.
func wget(ctx context.Context, c *workloads.ExecCommand) error {
	flags := flag.NewFlagSet("wget", flag.ContinueOnError)
	flags.SetOutput(c.Stderr)
	data := flags.String("post-data", "", "")
	flags.Bool("O-", false, "")
	flags.Bool("q", false, "")
	if err := flags.Parse(c.Args[1:]); err != nil || flags.NArg() != 1 {
		return workloads.Exit(1)
	}
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if *data != "" {
		method, body = http.MethodPost, strings.NewReader(*data)
	}
	r, err := http.NewRequestWithContext(ctx, method, flags.Arg(0), body)
	if err != nil {
		fmt.Fprintln(c.Stderr, "wget:", err)
		return workloads.Exit(1)
	}
	client := c.Container.HTTPClient()
	defer client.CloseIdleConnections()
	response, err := client.Do(r)
	if err != nil {
		fmt.Fprintln(c.Stderr, "wget:", err)
		return workloads.Exit(1)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		fmt.Fprintln(c.Stderr, "wget: server returned error:", response.Proto, response.Status)
		return workloads.Exit(1)
	}
	_, err = io.Copy(c.Stdout, response.Body)
	return err
}
