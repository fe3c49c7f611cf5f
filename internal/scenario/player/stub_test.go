package player

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/faults"
)

// stub is an API server in a page, so that the runner is tested against answers that
// a test decides and not against the cluster. It serves the kind Widget in
// example.com/v1 and the cluster-scoped kind Node in v1, and keeps what it is sent. An
// object with labels is refused, one with annotations warned of; a DELETE of everything at
// /apis ends discovery. A watch is two events and ends; a Table is the same whatever it is of.
type stub struct {
	requests []string // METHOD PATH [resourceVersion] [media type and body of a patch or delete]
	objects  map[string]map[string]any
	revision int
	withdrew bool
	closed   bool
	closeErr error
}

func newStub() *stub { return &stub{objects: map[string]map[string]any{}} }

// start is the Starter of clusters that are s.
func (s *stub) start(ClusterOptions) (Backend, error) { return s, nil }

func (s *stub) Close() error { s.closed = true; return s.closeErr }

func (s *stub) Fork() (Backend, error) { return nil, errors.New("a stub has no fork") }

func (s *stub) Inject(faults.Fault) error { return errors.New("a stub has no faults") }

func (s *stub) Compact() error { return nil }

func (s *stub) CABundle() []byte { return []byte("a bundle") }

func (s *stub) ServiceURL(namespace, name string, port int) string {
	return fmt.Sprintf("https://%s.%s:%d", name, namespace, port)
}

func (s *stub) RESTConfig() *rest.Config {
	return &rest.Config{Host: "http://stub.invalid", Transport: roundTripper(s.serve)}
}

func (s *stub) ConfigFor(user string, _ ...string) *rest.Config { return s.as(user) }

func (s *stub) ServiceAccountConfig(namespace, name string) *rest.Config {
	return s.as(namespace + ":" + name)
}

func (s *stub) as(token string) *rest.Config {
	cfg := s.RESTConfig()
	cfg.BearerToken = token
	return cfg
}

type roundTripper func(http.ResponseWriter, *http.Request)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	f(w, r)
	return w.Result(), nil
}

func (s *stub) serve(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case path == "/healthz":
		fmt.Fprint(w, "ok")
		return
	case path == "/apis/example.com/v1" && !s.withdrew:
		reply(w, 200, `{"resources": [
			{"name": "widgets/status", "kind": "Widget", "namespaced": true},
			{"name": "widgets", "kind": "Widget", "namespaced": true}]}`)
		return
	case path == "/api/v1":
		reply(w, 200, `{"resources": [{"name": "nodes", "kind": "Node"}]}`)
		return
	case path == "/apis":
		s.withdrew = true
		reply(w, 200, `{}`)
		return
	}
	var text []byte
	if r.Body != nil {
		text, _ = io.ReadAll(r.Body)
	}
	var sent map[string]any
	json.Unmarshal(text, &sent)
	metadata, _ := sent["metadata"].(map[string]any)
	request := r.Method + " " + r.URL.RequestURI()
	if version, ok := metadata["resourceVersion"]; ok {
		request += " " + fmt.Sprint(version)
	}
	if media := r.Header.Get("Content-Type"); len(text) > 0 && (r.Method == "PATCH" || r.Method == "DELETE" || media != "application/json") {
		request += " " + media + " " + string(text)
	}
	if agent := r.Header.Get("X-Agent"); agent != "" {
		request += " by " + agent
	}
	s.requests = append(s.requests, request)

	name := path[strings.LastIndex(path, "/")+1:]
	switch _, exists := s.objects[path]; {
	case s.withdrew:
		http.NotFound(w, r)
	case r.URL.Query().Get("watch") == "true":
		reply(w, 200, `{"type": "ADDED", "object": {"kind": "Widget"}}{"type": "DELETED", "object": {"size": 1}}`)
	case strings.Contains(r.Header.Get("Accept"), "as=Table"):
		reply(w, 200, `{"kind": "Table", "columnDefinitions": [{"name": "Name", "priority": 0}, {"name": "Size", "priority": 1}, {"name": "Age"}],
			"rows": [{"cells": ["a", 1, "5s"]}, {"cells": ["b", null, "6s"]}]}`)
	case metadata["labels"] != nil:
		reply(w, 403, `{"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no labels here"}`)
	case metadata["annotations"] != nil:
		w.Header().Add("Warning", `299 - "mind the gap"`)
		w.Header().Add("Warning", `299 - "and the \"step\""`)
		s.keep(w, 201, path+"/"+fmt.Sprint(metadata["name"]), sent)
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply") && sent != nil:
		s.keep(w, 200, path, sent)
	case r.Method == "POST" && sent == nil:
		reply(w, 400, `{"kind": "Status", "code": 400, "reason": "BadRequest", "message": "not JSON"}`)
	case r.Method == "POST":
		name, _ = metadata["name"].(string)
		s.keep(w, 201, path+"/"+name, sent)
	case name == "widgets" || name == "nodes":
		reply(w, 200, fmt.Sprintf(`{"kind": "List", "items": [%q]}`, path))
	case !exists:
		reply(w, 404, fmt.Sprintf(`{"kind": "Status", "code": 404, "reason": "NotFound", "message": "%s not found"}`, name))
	case r.Method == "PUT":
		s.keep(w, 200, path, sent)
	case r.Method == "DELETE":
		delete(s.objects, path)
		reply(w, 200, `{"kind": "Status", "status": "Success"}`)
	default:
		s.show(w, 200, path)
	}
}

func (s *stub) keep(w http.ResponseWriter, code int, path string, object map[string]any) {
	s.revision++
	object["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(s.revision)
	s.objects[path] = object
	s.show(w, code, path)
}

func (s *stub) show(w http.ResponseWriter, code int, path string) {
	data, err := json.Marshal(s.objects[path])
	if err != nil {
		panic(err)
	}
	reply(w, code, string(data))
}

func reply(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprint(w, body)
}
