package record

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/rewrite"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// recordedStep is a step that is being written.
type recordedStep struct {
	verb     string
	argument any
	more     []entry // beside it
	expects  []entry
	as       string
	by       map[string]any
	read     bool
}

func (s *recordedStep) entries() []entry {
	entries := append([]entry{{s.verb, s.argument}}, s.more...)
	switch {
	case s.by != nil:
		entries = append(entries, entry{"as", s.by})
	case s.as != "":
		entries = append(entries, entry{"as", s.as})
	}
	return append(entries, s.expects...)
}

// valueSource is the step in whose answer a generated value occurred first, and its path there.
type valueSource struct {
	step *recordedStep
	kind string
	path []string
}

// recording turns exchanges into steps. It does not keep the exchanges.
type recording struct {
	steps   []*recordedStep
	size    int // of the text of the steps, in bytes
	omitted int // requests that are not steps, because the session is full
	names   map[string]int
	// values are values that the server has generated: uids, resourceVersions and generated names.
	values map[string]valueSource
	// sent has the texts that clients have sent; they are the same in each run.
	sent map[string]bool
	// secrets replaces the values of Secrets.
	secrets secrets
}

// step appends an exchange as a step.
func (w *recording) step(e *exchange) {
	if w.values == nil {
		w.names, w.values, w.sent = map[string]int{}, map[string]valueSource{}, map[string]bool{}
	}
	w.secrets.hide(e)
	w.noteSent(e.requestBody)
	s := &recordedStep{by: e.by, read: e.request.Method == http.MethodGet}
	reference := map[string]any{"apiVersion": e.groupVersion(), "kind": e.kind}
	if e.info.Namespace != "" && !(e.info.Resource == "namespaces" && e.groupVersion() == "v1") {
		reference["namespace"] = w.reference(e.info.Namespace)
	}
	if e.info.Name != "" {
		reference["name"] = w.reference(e.info.Name)
	}
	byPath := e.kind == "" || e.info.Subresource != "" && !slices.Contains([]string{http.MethodGet, http.MethodPut, http.MethodPatch}, e.request.Method)
	if byPath {
		reference = map[string]any{"path": e.info.Path}
	}
	var body any
	switch e.request.Method {
	case http.MethodGet:
		s.verb, s.argument = "get", reference
		if e.info.Name == "" {
			s.verb = "list"
		}
	case http.MethodPost, http.MethodPut:
		s.verb = map[string]string{http.MethodPost: "create", http.MethodPut: "update"}[e.request.Method]
		body = w.write(s, e, reference, byPath)
	case http.MethodPatch:
		if e.mediaType == "application/apply-patch+yaml" {
			s.verb = "apply"
			body = w.write(s, e, reference, byPath)
			break
		}
		s.verb, s.argument = "patch", reference
		for name, media := range syntax.PatchTypes {
			if media == e.mediaType {
				s.more = append(s.more, entry{"type", name})
			}
		}
		if len(s.more) == 0 {
			return // the server does not support this patch
		}
		if e.info.Name == "" {
			s.argument = map[string]any{"path": e.info.Path} // a reference to an object needs a name
		}
		body = w.body(e.requestBody)
	case http.MethodDelete:
		s.verb, s.argument = "delete", reference
		if e.info.Name == "" {
			s.verb = "deletecollection"
		}
		body = w.withReferences(e.requestBody)
		if options, ok := body.(map[string]any); ok {
			delete(options, "kind")
			delete(options, "apiVersion")
			if len(options) == 0 {
				body = nil
			}
		}
	default:
		return
	}
	if e.info.Subresource != "" && !byPath {
		s.more = append(s.more, entry{"subresource", e.info.Subresource})
	}
	if body != nil {
		s.more = append(s.more, entry{"body", body})
	}
	if options := w.options(e); len(options) > 0 {
		s.more = append(s.more, entry{"options", options})
	}
	w.expect(s, e)
	if last := len(w.steps) - 1; s.read && last >= 0 && w.steps[last].read && reflect.DeepEqual(s.entries(), w.steps[last].entries()) {
		return // the same read again
	}
	w.steps = append(w.steps, s)
	w.size += len(inLines(s.entries(), 2))
	w.noteValues(s, e)
}

// write adds the object of a create, an update or an apply to its step, and returns its body if that is not the
// manifest. reference is the target of the request. A reference to an object needs a name, so a manifest names the path
// of a create.
func (w *recording) write(s *recordedStep, e *exchange, reference map[string]any, byPath bool) any {
	sent, _ := e.requestBody.(map[string]any)
	version, _ := sent["apiVersion"].(string)
	kind, _ := sent["kind"].(string)
	isManifest := version != "" && kind != ""
	switch {
	case isManifest && !byPath && w.pathMatches(e, sent):
		s.argument = w.manifest(sent)
		return nil
	case !byPath && e.info.Name == "" && e.request.Method == http.MethodPost:
		manifest := map[string]any{"apiVersion": e.groupVersion(), "kind": e.kind}
		if reference["namespace"] != nil {
			manifest["metadata"] = map[string]any{"namespace": reference["namespace"]}
		}
		s.argument = manifest
		return w.body(e.requestBody)
	case e.info.Name == "":
		reference = map[string]any{"path": e.info.Path}
	}
	s.more = append(s.more, entry{"to", reference})
	if isManifest {
		s.argument = w.manifest(sent)
		return nil
	}
	s.argument = map[string]any{"apiVersion": e.groupVersion(), "kind": cmp.Or(e.kind, "Unknown")}
	return w.body(e.requestBody)
}

// body returns the body of a request; a request without one has an empty text in the place of a manifest.
func (w *recording) body(sent any) any {
	if sent == nil {
		return ""
	}
	return w.withReferences(sent)
}

// pathMatches reports whether the path of a request is the one that its manifest names.
func (w *recording) pathMatches(e *exchange, manifest map[string]any) bool {
	metadata := player.MetadataOf(manifest)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	if namespace == "" && e.info.Namespace == "default" {
		namespace = "default"
	}
	isNamespace := e.info.Resource == "namespaces" && e.groupVersion() == "v1"
	return manifest["kind"] == e.kind && manifest["apiVersion"] == e.groupVersion() && (name == e.info.Name || e.info.Name == "") && (namespace == e.info.Namespace || isNamespace)
}

// noteSent stores the texts that a client sends.
func (w *recording) noteSent(tree any) {
	switch t := tree.(type) {
	case string:
		w.sent[t] = true
	case map[string]any:
		for _, field := range t {
			w.noteSent(field)
		}
	case []any:
		for _, item := range t {
			w.noteSent(item)
		}
	}
}

// manifest returns an object that a client has sent, without the fields that a client cannot set.
func (w *recording) manifest(sent map[string]any) any {
	copied, _ := w.withReferences(sent).(map[string]any)
	metadata, _ := copied["metadata"].(map[string]any)
	for _, name := range []string{"uid", "creationTimestamp", "deletionTimestamp", "managedFields", "selfLink", "generation"} {
		delete(metadata, name)
	}
	if text, ok := metadata["resourceVersion"].(string); ok {
		delete(metadata, "resourceVersion") // the scenario has read no object of this revision
		if text == "" || text == "0" {
			metadata["resourceVersion"] = text
		}
	}
	if status, ok := copied["status"].(map[string]any); ok && len(status) == 0 {
		delete(copied, "status")
	}
	return copied
}

// withReferences returns a tree that a client has sent, in which values that the server generated before are references.
func (w *recording) withReferences(tree any) any {
	switch t := tree.(type) {
	case string:
		return w.reference(t)
	case map[string]any:
		fields := make(map[string]any, len(t))
		for name, field := range t {
			if field == nil && (name == "creationTimestamp" || name == "deletionTimestamp") {
				continue
			}
			fields[name] = w.withReferences(field)
			isRevision := name == "resourceVersion" || name == "value" && t["path"] == "/metadata/resourceVersion" // in a JSON patch
			if text, ok := field.(string); ok && isRevision {
				fields[name] = w.referTo("resourceVersion "+text, text)
			}
		}
		return fields
	case []any:
		items := make([]any, len(t))
		for i, item := range t {
			items[i] = w.withReferences(item)
		}
		return items
	}
	return tree
}

// reference returns a text, or a reference to the answer in which the server generated it.
func (w *recording) reference(text string) any { return w.referTo("text "+text, text) }

func (w *recording) referTo(key, text string) any {
	source, ok := w.values[key]
	if !ok || source.step.by != nil {
		return text
	}
	if source.step.as == "" {
		w.names[source.kind]++
		source.step.as = fmt.Sprintf("%s%d", source.kind, w.names[source.kind])
	}
	return syntax.From{Answer: source.step.as, Path: source.path}
}

// options returns the query parameters of the request that a scenario can have.
func (w *recording) options(e *exchange) map[string]any {
	options := map[string]any{}
	for name, values := range e.request.URL.Query() {
		if !slices.Contains(syntax.QueryOptions, name) || name == "timeoutSeconds" || name == "pretty" || values[0] == "" {
			continue
		}
		switch {
		case name == "continue", name == "resourceVersionMatch", name == "resourceVersion" && values[0] != "0":
			// of a revision of this session
		case len(values) == 1:
			options[name] = values[0]
			if name == "force" && (values[0] == "true" || values[0] == "false") {
				options[name] = values[0] == "true"
			}
		default:
			items := make([]any, len(values))
			for i, value := range values {
				items[i] = value
			}
			options[name] = items
		}
	}
	if e.request.URL.Query().Get("continue") != "" || options["limit"] != nil && e.request.URL.Query().Get("limit") == "500" {
		delete(options, "limit") // kubectl pages through lists like this
	}
	return options
}

// maxItems is how many items of a list a scenario shows.
const maxItems = 20

// expect adds the expectations of the answer to the step.
func (w *recording) expect(s *recordedStep, e *exchange) {
	body, _ := e.responseBody.(map[string]any)
	if e.code >= http.StatusBadRequest {
		brief := rewrite.ErrorSummary(player.Answer{Code: e.code, Body: e.responseBody})
		if message, ok := brief["message"].(string); ok && w.mentionsValue(message) {
			delete(brief, "message")
		}
		if brief["body"] == nil {
			delete(brief, "body")
		}
		s.expects = append(s.expects, entry{"error", brief})
		return
	}
	if len(e.warnings) > 0 {
		s.expects = append(s.expects, entry{"warnings", e.warnings})
	}
	if e.code == http.StatusCreated && e.request.Method != http.MethodPost {
		s.expects = append(s.expects, entry{"code", int64(e.code)})
	}
	lasting := &rewrite.Rewriter{}
	items, isList := body["items"].([]any)
	switch {
	case body["kind"] == "Table" && s.read:
		lasting.InTable = true
		s.expects = append(s.expects, entry{"table", lasting.WithoutVolatile(player.Printed(body, false))})
	case s.verb == "delete" || s.verb == "deletecollection" || body == nil:
	case isList && len(items) > maxItems:
		s.expects = append(s.expects, entry{"that", []any{fmt.Sprintf("size(answer.items) == %d", len(items))}})
	case isList:
		replaced := make([]any, len(items))
		for i, item := range items {
			replaced[i] = w.stable(lasting, item, true)
		}
		s.expects = append(s.expects, entry{"expect", map[string]any{"items": replaced}})
	default:
		expected, _ := w.stable(lasting, body, false).(map[string]any)
		if sent, ok := e.requestBody.(map[string]any); ok && !s.read {
			expected, _ = fieldsBeyond(expected, sent).(map[string]any)
		}
		if len(expected) > 0 {
			s.expects = append(s.expects, entry{"expect", expected})
		}
	}
}

// stable returns the fields of an object that are the same in each run and not in the request.
func (w *recording) stable(r *rewrite.Rewriter, object any, named bool) any {
	fields, ok := r.WithoutVolatile(object).(map[string]any)
	if !ok {
		return object
	}
	delete(fields, "apiVersion")
	delete(fields, "kind")
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		name, _ := metadata["name"].(string)
		prefix, generated := metadata["generateName"].(string)
		if !named || generated && strings.HasPrefix(name, prefix) {
			delete(metadata, "name")
		}
		if !named {
			delete(metadata, "namespace")
		}
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			if delete(annotations, lastApplied); len(annotations) == 0 {
				delete(metadata, "annotations")
			}
		}
		if len(metadata) == 0 {
			delete(fields, "metadata")
		}
	}
	if status, ok := fields["status"].(map[string]any); ok {
		delete(status, "token")
		if len(status) == 0 {
			delete(fields, "status")
		}
	}
	return fields
}

// fieldsBeyond returns the fields of value that than lacks or has with another value.
func fieldsBeyond(value, than map[string]any) any {
	more := map[string]any{}
	for name, field := range value {
		other, has := than[name]
		fields, isMapping := field.(map[string]any)
		others, both := other.(map[string]any)
		switch {
		case has && isMapping && both:
			if rest, _ := fieldsBeyond(fields, others).(map[string]any); len(rest) > 0 {
				more[name] = rest
			}
		case !has || !reflect.DeepEqual(field, other):
			more[name] = field
		}
	}
	return more
}

// lastApplied is the annotation in which kubectl apply stores the manifest.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// mentionsValue reports whether a message contains a value that differs from run to run.
func (w *recording) mentionsValue(message string) bool {
	for key := range w.values {
		if kind, text, _ := strings.Cut(key, " "); kind == "text" && strings.Contains(message, text) {
			return true
		}
	}
	return false
}

// noteValues stores the values that the server has generated, because later requests may contain them.
func (w *recording) noteValues(s *recordedStep, e *exchange) {
	body, _ := e.responseBody.(map[string]any)
	if e.code >= http.StatusBadRequest || body == nil || body["kind"] == "Table" {
		return
	}
	w.noteObjectValues(s, e, body, nil)
	items, _ := body["items"].([]any)
	for i, item := range items {
		w.noteObjectValues(s, e, item, []string{"items", fmt.Sprint(i)})
	}
}

func (w *recording) noteObjectValues(s *recordedStep, e *exchange, object any, path []string) {
	metadata := player.MetadataOf(object)
	kind := strings.ToLower(e.kind)
	for name, key := range map[string]string{"uid": "text ", "resourceVersion": "resourceVersion ", "name": "text "} {
		text, _ := metadata[name].(string)
		prefix, generated := metadata["generateName"].(string)
		if text == "" || w.sent[text] && name == "name" || name == "name" && (!generated || !strings.HasPrefix(text, prefix)) {
			continue
		}
		if source, ok := w.values[key+text]; !ok || name == "resourceVersion" && source.step.by != nil {
			w.values[key+text] = valueSource{s, kind, append(slices.Clone(path), "metadata", name)}
		}
	}
}
