package scenarios

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/types"
)

// verb is a kind of step. The parser, the manual and the schema read the table of verbs; the player has a
// table of what each of them does.
type verb struct {
	name     string
	argument argument
	doc      string
}

// argument is what stands after a step's verb.
type argument struct {
	notation string
	parse    func(*parser, *yaml.Node) map[string]any
}

var verbs = []*verb{
	{"create", oneManifest, "sends the manifest as a new object."},
	{"get", objectReference, "reads one object, or whatever the server has at a path."},
	{"list", listReference, "reads all objects of a kind: those of one namespace, or without namespace those of all."},
	{"watch", listReference, "reads events of what list reads, as many as expect has, and no further. It begins where" +
		" the option resourceVersion says."},
	{"update", oneManifest, "sends the manifest in place of the object of its name, under the resourceVersion" +
		" that the manifest says; if it says nothing about that, under the current one; and under none with resourceVersion: !absent."},
	{"patch", objectReference, "changes one object as the body says; type says which type of patch it is."},
	{"apply", oneManifest, "sends the manifest as an apply configuration, for server-side apply. Without the option" +
		" fieldManager, the manager is scenario."},
	{"delete", objectReference, "deletes one object."},
	{"deletecollection", listReference, "deletes the objects that list reads, with the same options."},
	{"scale", scaleReference, "changes how many replicas one object asks for, by its subresource scale."},
	{"status", statusManifest, "sends the status of the manifest, as a merge patch of the subresource status: what a controller" +
		" or a kubelet would write."},
	{"finalize", finalizeReference, "takes a finalizer off an object, as who has put it there does in the end; without finalizer all of them." +
		" The finalizer kubernetes of a namespace goes by its subresource finalize."},
	{"evict", podReference, "evicts a Pod, as kubectl drain does; body has DeleteOptions."},
	{"absent", maybeReference, "makes sure that one object is not there, or without name that none is that list would read."},
	{"count", listReference, "counts the objects that list reads; the answer is the number."},
	{"events", objectReferenceByKind, "reads the Events recorded for one object, the oldest first; the answer is the list of them."},
	{"log", anyValue, "writes a line to the log of the scenario, which is shown if it fails."},
	{"advance", oneDuration, "lets that much virtual time pass, which may be computed."},
	{"settle", settlePeriods, "waits until nothing is left to do: no request is on its way, all events are" +
		" delivered, and nothing is written for quiet of virtual time (1s if left out). It fails if that takes longer than within (10m)."},
	{"fault", faultFields, "lets requests of clients go wrong from now on, as fakecluster.Inject does: those of the scenario itself, too, unless" +
		" user or userAgent say whose. effect is conflict, unavailable, timeout, cutBeforeCommit, cutAfterCommit, expireWatch or failConversion, or one of" +
		" tooManyRequests: DURATION, internalError: TEXT, refuseAdmission: TEXT, failWebhook: NAME, staleRead: REVISIONS, dropWatch: EVENTS and" +
		" delayWatch: DURATION. It leaves the first after requests alone, strikes times of the others at most, and each of them with the" +
		" probability, such as 0.5: as the seed of the cluster is always the same, it strikes the same ones in every run. The scenario fails if" +
		" the fault has never struck, unless it is optional."},
	{"compact", nothing, "forgets the history of the cluster, as etcd does every five minutes: older revisions are answered with 410."},
	{"calls", webhookName, "reads the calls that a webhook got since the last step that read them."},
	{"webhook", webhookReply, "changes how a webhook answers from now on."},
}

func verbNames() []string {
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = v.name
	}
	return names
}

// Step documents one kind of step.
type Step struct {
	// Name is the field of a step that says its kind, and Argument is the notation of the
	// field's value.
	Name, Argument string
	// Doc says what the step does. It completes a sentence that begins with Name.
	Doc string
}

// Steps returns all kinds of steps, for manuals.
func Steps() []Step {
	steps := make([]Step, len(verbs))
	for i, v := range verbs {
		steps[i] = Step{v.name, v.argument.notation, v.doc}
	}
	return steps
}

var oneManifest = argument{"MANIFEST", func(p *parser, n *yaml.Node) map[string]any {
	manifests := p.manifestsOf(n)
	if len(manifests) > 1 {
		p.mistake(n, "a step takes one manifest, and there are %d in the file", len(manifests))
	}
	if len(manifests) == 0 {
		return nil
	}
	return manifests[0].object
}}

var (
	objectReference = reference("{apiVersion, kind, namespace, name} or {path}", "apiVersion", "kind", "name")
	listReference   = reference("{apiVersion, kind, namespace} or {path}", "apiVersion", "kind")
)

// reference is an argument that says where something is. The fields in needed have
// to be there; namespace need not, and path stands alone.
func reference(notation string, needed ...string) argument {
	return referenceWith(notation, nil, needed...)
}

// referenceWith is a reference that may have more fields, unless they are nil, and then no path.
func referenceWith(notation string, more map[string]func(*parser, *yaml.Node) any, needed ...string) argument {
	return argument{notation, func(p *parser, n *yaml.Node) map[string]any {
		ref := map[string]any{}
		known := map[string]func(*yaml.Node){}
		for name, read := range more {
			known[name] = func(n *yaml.Node) { ref[name] = read(p, n) }
		}
		usual := []string{"namespace", "path"}
		if more != nil {
			usual = usual[:1]
		}
		for _, name := range append(usual, needed...) {
			known[name] = func(n *yaml.Node) { ref[name] = p.textOrMark(n) }
		}
		before := len(p.mistakes)
		p.fields(n, "a reference", known)
		if len(p.mistakes) > before {
			return ref
		}
		if _, ok := ref["path"]; ok {
			if path, ok := ref["path"].(string); ok && !strings.HasPrefix(path, "/") {
				p.mistake(n, "a path begins with a slash: %q", path)
			}
			if len(ref) > 1 {
				p.mistake(n, "a path says everything: no other field can stand beside it")
			}
			return ref
		}
		for _, name := range needed {
			if _, ok := ref[name]; !ok {
				p.mistake(n, "a reference needs %s", name)
			}
		}
		return ref
	}}
}

var webhookName = argument{"NAME", func(p *parser, n *yaml.Node) map[string]any {
	return map[string]any{"name": p.stubName(n)}
}}

var webhookReply = argument{"{name, response, ...}", func(p *parser, n *yaml.Node) map[string]any {
	argument := map[string]any{}
	var to stubReply
	known := p.replyFields(&to)
	known["name"] = func(n *yaml.Node) { argument["name"] = p.stubName(n) }
	before := len(p.mistakes)
	p.fields(n, "a webhook", known)
	if len(p.mistakes) == before {
		if argument["name"] == nil {
			p.mistake(n, "which webhook? It needs name")
		}
		p.checkReply(n, to)
	}
	argument["reply"] = to
	return argument
}}

// stubName reads the name of a webhook of the scenario.
func (p *parser) stubName(n *yaml.Node) string {
	name := p.text(n)
	if name != "" && !slices.ContainsFunc(p.stubs, func(w stubWebhook) bool { return w.name == name }) {
		p.mistake(n, "the scenario has no webhook named %q", name)
	}
	return name
}

// actions are what the steps do, by verb: each sends the request that the step is about. The request is
// resolved; !absent may still stand in it. The steps that let time pass are not among them: see playing.step.
var actions = map[string]func(ctx context.Context, c *client, r request) (target, answer, error){
	"create":           create,
	"get":              get,
	"list":             list,
	"watch":            watch,
	"update":           update,
	"patch":            patch,
	"apply":            apply,
	"delete":           remove,
	"deletecollection": removeAll,
	"scale":            scale,
	"status":           patchStatus,
	"finalize":         finalize,
	"evict":            evict,
	"absent":           isAbsent,
	"count":            count,
	"events":           recorded,
	"log":              write,
	"fault":            inject,
	"compact":          compactHistory,
	"calls":            calls,
	"webhook":          turn,
}

func create(ctx context.Context, c *client, r request) (target, answer, error) {
	t := r.manifestTarget()
	path, err := c.collection(ctx, &t)
	if err != nil {
		return t, answer{}, err
	}
	a, err := c.send(ctx, r.call(http.MethodPost, path, r.content()))
	return t, a, err
}

func get(ctx context.Context, c *client, r request) (target, answer, error) {
	return c.toObject(ctx, r, http.MethodGet, nil)
}

func list(ctx context.Context, c *client, r request) (target, answer, error) {
	return c.toCollection(ctx, r, http.MethodGet, nil)
}

func update(ctx context.Context, c *client, r request) (target, answer, error) {
	t := r.manifestTarget()
	path, err := c.object(ctx, &t, r.subresource)
	if err != nil {
		return t, answer{}, err
	}
	if metadata, ok := r.argument["metadata"].(map[string]any); ok {
		if _, said := metadata["resourceVersion"]; !said {
			current, err := c.send(ctx, call{method: http.MethodGet, path: path})
			if err != nil {
				return t, answer{}, err
			}
			// An object that is not there has no version to send: the answer to
			// the update itself will say so.
			if object := current.metadata(); !current.refused() && object != nil {
				metadata["resourceVersion"] = object["resourceVersion"]
			}
		}
	}
	a, err := c.send(ctx, r.call(http.MethodPut, path, r.content()))
	return t, a, err
}

// patchTypes are the media types of the types of patches.
var patchTypes = map[string]string{
	"json":      string(types.JSONPatchType),
	"merge":     string(types.MergePatchType),
	"strategic": string(types.StrategicMergePatchType),
}

func patch(ctx context.Context, c *client, r request) (target, answer, error) {
	r.headers = withDefault(r.headers, "Content-Type", patchTypes[r.patchType])
	return c.toObject(ctx, r, http.MethodPatch, r.body)
}

func apply(ctx context.Context, c *client, r request) (target, answer, error) {
	t := r.manifestTarget()
	path, err := c.object(ctx, &t, r.subresource)
	if err != nil {
		return t, answer{}, err
	}
	r.options = withDefault(r.options, "fieldManager", userAgent)
	r.headers = withDefault(r.headers, "Content-Type", string(types.ApplyYAMLPatchType))
	a, err := c.send(ctx, r.call(http.MethodPatch, path, r.content()))
	return t, a, err
}

func remove(ctx context.Context, c *client, r request) (target, answer, error) {
	return c.toObject(ctx, r, http.MethodDelete, r.body)
}

func removeAll(ctx context.Context, c *client, r request) (target, answer, error) {
	return c.toCollection(ctx, r, http.MethodDelete, r.body)
}

func calls(_ context.Context, c *client, r request) (target, answer, error) {
	w := c.webhooks.of(r.argument)
	return target{path: w.name}, answer{code: http.StatusOK, body: w.read(), warnings: []any{}}, nil
}

func turn(_ context.Context, c *client, r request) (target, answer, error) {
	w := c.webhooks.of(r.argument)
	w.turn(r.argument["reply"].(stubReply))
	return target{path: w.name}, answer{code: http.StatusOK, warnings: []any{}}, nil
}

// withDefault returns fields with a value for name, if they say nothing about it.
func withDefault(fields map[string]any, name string, value any) map[string]any {
	if _, said := fields[name]; said {
		return fields
	}
	with := map[string]any{name: value}
	maps.Copy(with, fields)
	return with
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func sortedFields(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
