package play

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"golang.org/x/net/http2"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/conformance/wire/exchange"
)

// Server is one of those that histories are played on. It is safe for concurrent use.
type Server struct {
	base     string
	client   *http.Client
	name     string // in the URLs of the webhooks
	webhooks *Webhooks
	values   map[string]string // of references to webhooks
}

// NewServer returns a server whose requests are sent with cfg, by the user of cfg. The webhooks know it by its name.
func NewServer(name string, cfg *rest.Config, webhooks *Webhooks) (*Server, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.DisableCompression = true // the transport of a server in process has none
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	return &Server{strings.TrimSuffix(base.String(), "/"), client, name, webhooks, webhooks.Values(name)}, nil
}

// state is what one history has seen on a server.
type state struct {
	server  *Server
	objects map[string]seen // by path
	list    struct {
		Metadata struct{ Continue, ResourceVersion string }
	}
}

// seen is an object, as far as references go.
type seen struct {
	uid, created, version, first string
	managed                      json.RawMessage
	body                         []byte
}

func newState(s *Server) *state { return &state{server: s, objects: map[string]seen{}} }

// answer is what a server said.
type answer struct {
	code   int
	header http.Header
	body   []byte
	calls  []call // those of a step with the method Reviews
}

const (
	patience = 20 * time.Second // how long Until repeats a request
	pause    = 30 * time.Millisecond
)

// do makes the request of a step, and remembers what references need.
func (s *state) do(ctx context.Context, step Step) (answer, error) {
	if step.Method == Reviews {
		return reviewed(s.server.webhooks.take(s.server.name + "/" + step.Path)), nil
	}
	path, body := s.fill(step, step.Path), s.fill(step, step.Body)
	end := time.Now().Add(patience)
	got, err := s.server.send(ctx, step, path, body)
	for err == nil && !got.meets(step) && time.Now().Before(end) {
		time.Sleep(pause)
		got, err = s.server.send(ctx, step, path, body)
	}
	if err == nil && got.code < 300 {
		s.remember(step, got.body)
	}
	return got, err
}

// meets reports whether the answer is the one that the step waits for.
func (a answer) meets(step Step) bool {
	switch {
	case step.Until != 0:
		return a.code == step.Until && strings.Contains(string(a.body), step.Holds)
	case step.Not != 0:
		return a.code != step.Not
	}
	return true
}

// fill replaces the references in a text of the step. What is not known yet is replaced by nothing.
func (s *state) fill(step Step, text string) string {
	if !strings.Contains(text, "${") {
		return text
	}
	object := s.objects[step.object()]
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		name, path, _ := strings.Cut(found[2:len(found)-1], ":")
		switch name {
		case "text", "number":
			return gjson.GetBytes(object.body, path).String()
		case "uid":
			return object.uid
		case "resourceVersion":
			return object.version
		case "firstResourceVersion":
			return object.first
		case "creationTimestamp":
			return object.created
		case "managedFields":
			if object.managed == nil {
				return "null"
			}
			return string(object.managed)
		case "continue":
			return s.list.Metadata.Continue
		case "listed":
			return s.list.Metadata.ResourceVersion
		default:
			return s.server.values[name]
		}
	})
}

// remember keeps what an answer says of objects. Those of a list are remembered by its path and their names.
func (s *state) remember(step Step, body []byte) {
	var got struct {
		Kind     string
		Metadata struct {
			Name, UID, ResourceVersion, CreationTimestamp, Continue string
			ManagedFields                                           json.RawMessage
		}
	}
	if json.Unmarshal(body, &got) != nil {
		return
	}
	if strings.HasSuffix(got.Kind, "List") {
		s.list.Metadata.Continue, s.list.Metadata.ResourceVersion = got.Metadata.Continue, got.Metadata.ResourceVersion
		return
	}
	path := step.object()
	if step.Method == "POST" && step.Object == "" {
		path += "/" + got.Metadata.Name
	}
	if got.Metadata.ResourceVersion == "" || strings.Contains(step.Path, "dryRun=All") {
		return
	}
	object := s.objects[path]
	if object.uid != got.Metadata.UID && got.Metadata.UID != "" || object.first == "" {
		object = seen{uid: got.Metadata.UID, created: got.Metadata.CreationTimestamp, first: got.Metadata.ResourceVersion}
	}
	object.version, object.managed, object.body = got.Metadata.ResourceVersion, got.Metadata.ManagedFields, body
	s.objects[path] = object
}

// send makes a request once.
func (s *Server) send(ctx context.Context, step Step, path, body string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, step.Method, s.base+path, content)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("User-Agent", "random")
	// The administrators of the servers have other names.
	request.Header.Set("Impersonate-User", "random")
	request.Header.Set("Impersonate-Group", "system:masters")
	request.Header.Set("Accept", "application/json")
	if step.Accept != "" {
		request.Header.Set("Accept", step.Accept)
	}
	if step.Type != "" {
		request.Header.Set("Content-Type", step.Type)
	} else if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := s.client.Do(request)
	if err != nil {
		var reset http2.StreamError
		if errors.As(err, &reset) { // a real server ends the stream when it panics
			return answer{body: []byte("the stream was reset")}, nil
		}
		return answer{}, err
	}
	defer response.Body.Close()
	got := answer{code: response.StatusCode, header: response.Header}
	got.body, err = io.ReadAll(response.Body)
	return got, err
}

// text returns an answer to the step as it is compared.
func (a answer) text(step Step) string {
	body := a.body
	if strings.Contains(step.Path, "watch=") || strings.Contains(step.Path, "/watch/") {
		body = withoutBookmarks(body)
	}
	return masked(exchange.Text(a.code, a.header, inOrder(body), true))
}
