package record

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	requestinfo "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/internal/redact"
	"github.com/fakecluster/fakecluster/internal/scenario/player"
)

// A Recorder records the requests of clients and the answers of a cluster as a scenario: pass its Wrap to
// fakecluster.WithMiddleware. It leaves out watches, discovery, requests to paths that are not resources, and repeated
// reads with the same answer. It uses bounded memory: see Omitted.
type Recorder struct {
	mu        sync.Mutex
	client    *player.Client            // nil: the session has not begun
	anonymous *player.Client            // without credentials
	kinds     map[string]string         // by GROUPVERSION/RESOURCE
	users     map[string]map[string]any // by the header Authorization
	pending   []*exchange               // answers have begun, but are not steps yet
	recording recording
	agents    []string
	maxSize   int // in bytes of the text; 0: maxSession
}

// Begin starts the session. cfg is for an administrator of the cluster.
func (r *Recorder) Begin(cfg *rest.Config) error {
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return err
	}
	admin, err := player.NewHTTPClient(cfg)
	if err != nil {
		return err
	}
	anonymous, err := player.NewHTTPClient(player.WithoutCredentials(cfg))
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.client, r.anonymous = &player.Client{Base: base, HTTP: admin}, &player.Client{Base: base, HTTP: anonymous}
	r.kinds, r.users = map[string]string{}, map[string]map[string]any{}
	return nil
}

// exchange is a request with its answer.
type exchange struct {
	info        *requestinfo.RequestInfo
	kind        string // of the resource; empty: not found
	request     *http.Request
	by          map[string]any // the user, if it is not the administrator
	requestBody any            // a tree, or a text if it is not JSON or YAML
	mediaType   string         // of the request body
	code        int
	// responseBody is the body of the answer as a tree, or a text.
	responseBody any
	warnings     []any
	secret       bool // the server says that texts about it may contain a secret

	// done: the exchange is complete. recordable: it becomes a step.
	done, recordable bool
}

// groupVersion returns the group and version in the path.
func (e *exchange) groupVersion() string {
	if e.info.APIGroup == "" {
		return e.info.APIVersion
	}
	return e.info.APIGroup + "/" + e.info.APIVersion
}

// maxRecorded bounds the body of an answer that is recorded, in bytes.
const maxRecorded = 4 << 20

// The bounds of a session: the bytes of its text, and the number of values in it that the server has generated. Nobody
// would read a longer scenario.
const (
	maxSession = 16 << 20
	maxValues  = 1_000_000
	maxPending = 100 // exchanges that wait for one that began before them
)

// Wrap returns a handler that calls next and records the requests and answers.
func (r *Recorder) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		recording, full := r.client != nil, r.full()
		r.mu.Unlock()
		info, err := player.RequestInfo.NewRequestInfo(req)
		upgrade := req.Header.Get("Upgrade") != ""
		if !recording || err != nil || !info.IsResourceRequest || info.Resource == "" || info.Verb == "watch" || info.Verb == "proxy" || upgrade || req.UserAgent() == recorderAgent {
			next.ServeHTTP(w, req)
			return
		}
		if full {
			r.omit()
			next.ServeHTTP(w, req)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxRecorded))
		req.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil { // too long: the server rejects it
			req.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), errReader{err}))
			next.ServeHTTP(w, req)
			return
		}
		req.Header.Del("Accept-Encoding") // the answer is read here, too
		e := &exchange{info: info, request: req}
		kept := &responseCopy{ResponseWriter: w, code: http.StatusOK, begins: sync.OnceFunc(func() { r.begins(e) })}
		defer r.end(e)
		by, authorization := impersonatedUser(req), req.Header.Get("Authorization") // before filters remove them
		if by == nil {
			by = certificateUser(req)
		}
		ctx, marked := redact.WithMark(req.Context())
		next.ServeHTTP(kept, req.WithContext(ctx))
		e.secret = marked()
		kept.begins()
		if kept.code == http.StatusUnauthorized || kept.body.Len() > maxRecorded {
			return
		}
		if by == nil {
			by = r.userOf(context.WithoutCancel(req.Context()), authorization)
		}
		e.by = by
		r.complete(e, body, kept)
	})
}

// begins gives an exchange its place in the session, at the first byte of its answer: after its commit, and before the
// next request of the client.
func (r *Recorder) begins(e *exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, e)
}

// end marks an exchange as done, and turns the exchanges that are complete into steps. An exchange waits for those that
// began before it, unless more than maxPending wait: an answer may take any time.
func (r *Recorder) end(e *exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.done = true
	for len(r.pending) > 0 && r.pending[0].done {
		r.write(r.pending[0])
		r.pending = r.pending[1:]
	}
	if len(r.pending) > maxPending {
		r.flush()
	}
}

// flush turns all complete exchanges into steps. The caller holds the lock.
func (r *Recorder) flush() {
	var running []*exchange
	for _, e := range r.pending {
		if e.done {
			r.write(e)
		} else {
			running = append(running, e)
		}
	}
	r.pending = running
}

// write turns an exchange into a step. The caller holds the lock.
func (r *Recorder) write(e *exchange) {
	switch {
	case !e.recordable:
	case r.full():
		r.recording.omitted++
	default:
		r.recording.step(e)
		if agent, _, _ := strings.Cut(e.request.UserAgent(), "/"); agent != "" && !slices.Contains(r.agents, agent) {
			r.agents = append(r.agents, agent)
		}
	}
}

// omit counts a request that becomes no step.
func (r *Recorder) omit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recording.omitted++
}

// errReader ends with an error.
type errReader struct{ error }

func (e errReader) Read([]byte) (int, error) { return 0, e.error }

// responseCopy is a ResponseWriter that keeps a copy.
type responseCopy struct {
	http.ResponseWriter
	code   int
	body   bytes.Buffer
	begins func() // called before the first byte goes out
}

func (k *responseCopy) Unwrap() http.ResponseWriter { return k.ResponseWriter }

func (k *responseCopy) WriteHeader(code int) {
	if code >= 200 {
		k.code = code
		k.begins()
	}
	k.ResponseWriter.WriteHeader(code)
}

func (k *responseCopy) Write(data []byte) (int, error) {
	k.begins()
	if k.body.Len() <= maxRecorded {
		k.body.Write(data)
	}
	return k.ResponseWriter.Write(data)
}

// Flush passes a flush on, which some handlers ask for without a ResponseController.
func (k *responseCopy) Flush() { _ = http.NewResponseController(k.ResponseWriter).Flush() }

// complete completes an exchange.
func (r *Recorder) complete(e *exchange, body []byte, kept *responseCopy) {
	e.code, e.warnings = kept.code, player.WarningsOf(kept.Header())
	e.mediaType, _, _ = mime.ParseMediaType(e.request.Header.Get("Content-Type"))
	e.requestBody = treeOf(body, e.mediaType)
	answered, _, _ := mime.ParseMediaType(kept.Header().Get("Content-Type"))
	e.responseBody = treeOf(kept.body.Bytes(), answered)
	// The exchange is recorded even if the client has disconnected.
	e.kind = r.kindOf(context.WithoutCancel(e.request.Context()), e.groupVersion(), e.info.Resource)
	e.recordable = true
}

// full reports whether the session has reached its bounds. The caller holds the lock.
func (r *Recorder) full() bool {
	most := r.maxSize
	if most == 0 {
		most = maxSession
	}
	return r.recording.size >= most || len(r.recording.values) >= maxValues
}

// Omitted returns how many requests are not in the scenario because the session had become too long: 16 MiB of text, or
// a million values that the server generated. A Recorder keeps less than that in memory.
func (r *Recorder) Omitted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.recording.omitted
}

// treeOf returns a body as a tree, or as a text if it is not an object or a list in JSON or YAML.
func treeOf(body []byte, media string) any {
	if len(body) == 0 {
		return nil
	}
	switch media {
	case "application/vnd.kubernetes.protobuf":
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return nil // a kind that only servers have
		}
		if body, err = json.Marshal(object); err != nil {
			return nil
		}
	case "application/yaml", "application/apply-patch+yaml":
		if converted, err := yaml.YAMLToJSON(body); err == nil {
			body = converted
		}
	}
	var tree any
	if utiljson.Unmarshal(body, &tree) != nil {
		return string(body)
	}
	switch tree.(type) {
	case map[string]any, []any:
		return tree
	}
	return string(body) // a scenario sends a text and null unchanged
}

// impersonatedUser returns the user that a request impersonates, as a step has it; nil: none.
func impersonatedUser(req *http.Request) map[string]any {
	user := req.Header.Get("Impersonate-User")
	if user == "" {
		return nil
	}
	return stepUser(user, req.Header.Values("Impersonate-Group"))
}

// certificateUser returns the user of the client certificate; nil for the administrator, or without a certificate.
func certificateUser(req *http.Request) map[string]any {
	if req.TLS == nil || len(req.TLS.PeerCertificates) == 0 {
		return nil
	}
	subject := req.TLS.PeerCertificates[0].Subject
	if slices.Contains(subject.Organization, "system:masters") {
		return nil
	}
	return stepUser(subject.CommonName, subject.Organization)
}

// stepUser returns a user as a step has it.
func stepUser(user string, groups []string) map[string]any {
	account, ok := strings.CutPrefix(user, "system:serviceaccount:")
	if namespace, name, _ := strings.Cut(account, ":"); ok && name != "" && len(groups) == 0 {
		return map[string]any{"serviceAccount": namespace + "/" + name}
	}
	by := map[string]any{"user": user}
	var values []any
	for _, group := range groups {
		if group != "system:authenticated" {
			values = append(values, group)
		}
	}
	if values != nil {
		by["groups"] = values
	}
	return by
}

// userOf asks the cluster for the user of the credentials in a header. It returns nil for the administrator.
func (r *Recorder) userOf(ctx context.Context, authorization string) map[string]any {
	r.mu.Lock()
	by, ok := r.users[authorization]
	r.mu.Unlock()
	if ok || authorization == "" {
		return by
	}
	a, err := r.anonymous.Send(ctx, player.Call{
		Method: http.MethodPost, Path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
		Headers: map[string]any{"Authorization": authorization, "User-Agent": recorderAgent},
		Body:    map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
	})
	if err != nil || a.IsError() {
		return nil
	}
	body, _ := a.Body.(map[string]any)
	status, _ := body["status"].(map[string]any)
	info, _ := status["userInfo"].(map[string]any)
	name, _ := info["username"].(string)
	listed, _ := info["groups"].([]any)
	var groups []string
	for _, group := range listed {
		groups = append(groups, fmt.Sprint(group))
	}
	switch {
	case slices.Contains(groups, "system:masters"):
	case strings.HasPrefix(name, "system:serviceaccount:"):
		by = stepUser(name, nil)
	default:
		by = stepUser(name, groups)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users[authorization] = by
	return by
}

// recorderAgent is the user agent of the requests that a Recorder makes itself.
const recorderAgent = "scenario-recorder"

// kindOf looks up the kind of a resource in discovery. It returns "" if there is none.
func (r *Recorder) kindOf(ctx context.Context, groupVersion, resource string) string {
	key := groupVersion + "/" + resource
	r.mu.Lock()
	kind := r.kinds[key]
	r.mu.Unlock()
	if kind != "" {
		return kind
	}
	a, err := r.client.Send(ctx, player.Call{Method: http.MethodGet, Path: player.GroupVersionPath(groupVersion)})
	body, _ := a.Body.(map[string]any)
	if err != nil || a.IsError() {
		return ""
	}
	resources, _ := body["resources"].([]any)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, each := range resources {
		one, _ := each.(map[string]any)
		name, _ := one["name"].(string)
		r.kinds[groupVersion+"/"+name], _ = one["kind"].(string)
	}
	return r.kinds[key]
}
