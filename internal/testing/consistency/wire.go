package consistency

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Wire sends requests to a server and returns its answers as they are on the wire.
type Wire struct {
	Client *http.Client
	URL    string
	Agent  string // the user agent, by which faults find the requests; empty: "reads"
}

// Open sends a request and returns the answer. The caller reads and closes its body. An
// empty contentType or accept leaves the header away.
func (w Wire) Open(ctx context.Context, method, path, contentType, accept, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, w.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", cmp.Or(w.Agent, "reads"))
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	return w.Client.Do(req)
}

// Send sends a request and returns the code and the body of the answer, without the
// newline at its end.
func (w Wire) Send(ctx context.Context, method, path, contentType, body string) (int, string, error) {
	return w.send(ctx, method, path, contentType, "", body)
}

func (w Wire) send(ctx context.Context, method, path, contentType, accept, body string) (int, string, error) {
	resp, err := w.Open(ctx, method, path, contentType, accept, body)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSuffix(string(text), "\n"), err
}

// Get returns the code and the body of the answer to a GET.
func (w Wire) Get(t testing.TB, path string) (int, string) {
	t.Helper()
	code, body, err := w.Send(t.Context(), http.MethodGet, path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return code, body
}

// Items returns the items of a list, its resourceVersion and its continue token. An answer
// other than 200 fails the test.
func (w Wire) Items(t testing.TB, path string) (items []json.RawMessage, revision, next string) {
	t.Helper()
	code, body := w.Get(t, path)
	var l struct {
		Metadata struct{ ResourceVersion, Continue string }
		Items    []json.RawMessage
	}
	if err := json.Unmarshal([]byte(body), &l); err != nil || code != http.StatusOK {
		t.Fatalf("%s: %d %s %v", path, code, body, err)
	}
	return l.Items, l.Metadata.ResourceVersion, l.Metadata.Continue
}

// Stream reads the events of a watch, one on each line, until each returns false or the
// server ends the watch.
func (w Wire) Stream(ctx context.Context, path, accept string, each func(kind, object string) (more bool)) error {
	resp, err := w.Open(ctx, http.MethodGet, path, "", accept, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return &refused{path, resp.StatusCode, string(text)}
	}
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil // the watch has ended, or its context has
		}
		var event struct {
			Type   string
			Object json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			return fmt.Errorf("%s: %w: %s", path, err, line)
		}
		if !each(event.Type, string(event.Object)) {
			return nil
		}
	}
}

// refused is the error of a watch that did not begin.
type refused struct {
	path string
	code int
	text string
}

func (r *refused) Error() string { return fmt.Sprintf("%s: %d %s", r.path, r.code, r.text) }
