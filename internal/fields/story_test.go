package fields

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/internal/schema"
)

// shop is a kind with one of each kind of list and map.
func shop() *Tree {
	integer := &schema.Node{Type: "integer"}
	port := &schema.Node{Type: "object", Properties: map[string]*schema.Node{
		"port": integer, "protocol": {Type: "string", Default: "TCP"}, "name": text,
	}}
	return NewTree(&schema.Node{Type: "object", Properties: map[string]*schema.Node{
		"spec": {Type: "object", Properties: map[string]*schema.Node{
			"replicas": integer, "image": text,
			"args":     {Type: "array", Items: text},
			"tags":     {Type: "array", List: schema.Set, Items: text},
			"ports":    {Type: "array", List: schema.MapList, Keys: []string{"port", "protocol"}, Items: port},
			"selector": {Type: "object", AtomicMap: true, Additional: text},
			"limits":   {Type: "object", Additional: &schema.Node{IntOrString: true}},
			"free":     {Type: "object", PreserveUnknown: true},
			"template": {Type: "object", Embedded: true, PreserveUnknown: true},
		}},
		"status": {Type: "object", Properties: map[string]*schema.Node{"ready": integer}},
	}}, false)
}

// step is one write in a story about an object.
type step struct {
	manager, subresource string
	update, apply        string // the body, without apiVersion, kind and name
	force                bool
	object               string // what comes of it, likewise
	owners               map[string]string
	refused              string
}

func TestOwnersAfterAStory(t *testing.T) {
	for name, steps := range map[string][]step{
		"who creates owns all, and fields with names of their own": {{
			manager: "m", update: "spec: {replicas: 1, selector: {a: b}}",
			owners: map[string]string{"m Update": `{"f:spec":{".":{},"f:replicas":{},"f:selector":{}}}`},
		}},
		"who updates a field takes it over": {
			{manager: "user", apply: "spec: {replicas: 1, image: a}", owners: map[string]string{
				"user Apply": `{"f:spec":{"f:image":{},"f:replicas":{}}}`,
			}},
			{manager: "scaler", update: "spec: {replicas: 3, image: a}", owners: map[string]string{
				"user Apply": `{"f:spec":{"f:image":{}}}`, "scaler Update": `{"f:spec":{"f:replicas":{}}}`,
			}},
			{manager: "user", apply: "spec: {replicas: 1, image: b}",
				refused: `Apply failed with 1 conflict: conflict with "scaler" using x.io/v1: .spec.replicas`},
			{manager: "user", apply: "spec: {image: b}", object: "spec: {replicas: 3, image: b}", owners: map[string]string{
				"user Apply": `{"f:spec":{"f:image":{}}}`, "scaler Update": `{"f:spec":{"f:replicas":{}}}`,
			}},
			{manager: "user", apply: "spec: {replicas: 1, image: b}", force: true, object: "spec: {replicas: 1, image: b}", owners: map[string]string{
				"user Apply": `{"f:spec":{"f:image":{},"f:replicas":{}}}`,
			}},
		},
		"who applies the same value owns it, too, and no time is noted": {
			{manager: "a", apply: "spec: {replicas: 1}"},
			{manager: "b", apply: "spec: {replicas: 1}", object: "spec: {replicas: 1}", owners: map[string]string{
				"a Apply": `{"f:spec":{"f:replicas":{}}}`, "b Apply, no time": `{"f:spec":{"f:replicas":{}}}`,
			}},
			{manager: "a", apply: "spec: {image: a}", object: "spec: {replicas: 1, image: a}", owners: map[string]string{
				"a Apply": `{"f:spec":{"f:image":{}}}`, "b Apply, no time": `{"f:spec":{"f:replicas":{}}}`,
			}},
			{manager: "b", apply: "spec: {args: [r]}", object: "spec: {image: a, args: [r]}", owners: map[string]string{
				"a Apply": `{"f:spec":{"f:image":{}}}`, "b Apply": `{"f:spec":{"f:args":{}}}`,
			}},
		},
		"what an applier leaves out is removed, except what others own": {
			{manager: "a", apply: "spec: {image: a, tags: [s, t]}"},
			{manager: "b", update: "spec: {image: a, tags: [s, t, u]}"},
			{manager: "a", apply: "spec: {tags: [t]}", object: "spec: {tags: [t, u]}", owners: map[string]string{
				"a Apply": `{"f:spec":{"f:tags":{"v:\"t\"":{}}}}`, "b Update": `{"f:spec":{"f:tags":{"v:\"u\"":{}}}}`,
			}},
		},
		"items of a list are distinguished by their keys, which may be defaults": {
			{manager: "a", apply: "spec: {ports: [{port: 80, name: web}, {port: 53, protocol: UDP}]}", owners: map[string]string{
				"a Apply": `{"f:spec":{"f:ports":{"k:{\"port\":53,\"protocol\":\"UDP\"}":{".":{},"f:port":{},"f:protocol":{}},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}}}}}`,
			}},
			{manager: "b", apply: "spec: {ports: [{port: 80, protocol: TCP, name: other}]}",
				refused: `Apply failed with 1 conflict: conflict with "a": .spec.ports[port=80,protocol="TCP"].name`},
		},
		"an atomic list has one owner": {
			{manager: "a", apply: "spec: {args: [r, s]}"},
			{manager: "b", update: "spec: {args: [r, t]}", owners: map[string]string{"b Update": `{"f:spec":{"f:args":{}}}`}},
		},
		"fields without a schema are owned one by one, their lists as a whole": {{
			manager: "a", apply: "spec: {free: {u: {v: 1}, w: [1]}, limits: {cpu: 1}}",
			owners: map[string]string{"a Apply": `{"f:spec":{"f:free":{"f:u":{".":{},"f:v":{}},"f:w":{}},"f:limits":{"f:cpu":{}}}}`},
		}},
		"embedded resources have the metadata that all have": {{
			manager: "a", apply: "spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: web, finalizers: [x/y]}}}",
			owners: map[string]string{"a Apply": `{"f:spec":{"f:template":{"f:apiVersion":{},"f:kind":{},"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}},"f:name":{}}}}}`},
		}},
		"requests to the object do not own the status, those to the status nothing else": {
			{manager: "a", update: "{spec: {image: a}, status: {ready: 1}}", owners: map[string]string{"a Update": `{"f:spec":{".":{},"f:image":{}}}`}},
			{manager: "a", subresource: "status", update: "{spec: {image: b}, status: {ready: 2}}", owners: map[string]string{
				"a Update": `{"f:spec":{".":{},"f:image":{}}}`, "a Update status": `{"f:status":{"f:ready":{}}}`,
			}},
		},
		"several conflicts come by owner": {
			{manager: "b", update: "spec: {image: a, replicas: 1}"},
			{manager: "a", apply: "spec: {args: [r], free: {v: 1}}"},
			{manager: "c", apply: "spec: {image: b, args: [s], replicas: 2, free: {v: 2}}", refused: "Apply failed with 4 conflicts: conflicts with \"a\":\n" +
				"- .spec.args\n- .spec.free.v\nconflicts with \"b\" using x.io/v1:\n- .spec.image\n- .spec.replicas"},
		},
	} {
		t.Run(name, func(t *testing.T) { runStory(t, steps) })
	}
}

// runStory makes the writes of a story.
func runStory(t *testing.T, steps []step) {
	trees := map[string]*Tree{"x.io/v1": shop()}
	live, managed := map[string]any{"apiVersion": "x.io/v1", "kind": "Shop"}, NoManagers
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, s := range steps {
		reset := []string{"status"}
		if s.subresource != "" {
			reset = []string{"metadata", "spec"}
		}
		engine := &Engine{APIVersion: "x.io/v1", Kind: "Shop", Subresource: s.subresource, Trees: trees, Reset: map[string]Filter{"x.io/v1": Excluding(NewSet(reset...))}}
		var result Result
		var err error
		if s.apply != "" {
			result, err = engine.Apply(live, object(t, s.apply), managed, s.manager, s.force, now)
			if result.Object != nil {
				live = result.Object
			}
		} else {
			obj := object(t, s.update)
			result = engine.Update(live, obj, managed, s.manager, now)
			live = obj
		}
		now = now.Add(time.Minute)
		switch {
		case result.Declined != "":
			t.Fatalf("step %d: declined: %s", i, result.Declined)
		case err != nil:
			if err.Error() != s.refused {
				t.Fatalf("step %d: refused with %q, want %q", i, err, s.refused)
			}
			continue
		case s.refused != "":
			t.Fatalf("step %d: not refused, want %q", i, s.refused)
		}
		managed = result.Managed
		if s.object != "" {
			if diff := cmp.Diff(object(t, s.object), live); diff != "" {
				t.Fatalf("step %d: object (-want +got):\n%s", i, diff)
			}
		}
		if s.owners == nil {
			continue
		}
		got := map[string]string{}
		for _, e := range managed.entries {
			owner := e.manager + " " + e.operation
			if e.subresource != "" {
				owner += " " + e.subresource
			}
			if e.time == "" {
				owner += ", no time"
			}
			text, err := json.Marshal(e.tree["fieldsV1"])
			if err != nil {
				t.Fatal(err)
			}
			got[owner] = string(text)
		}
		if diff := cmp.Diff(s.owners, got); diff != "" {
			t.Fatalf("step %d: owners (-want +got):\n%s", i, diff)
		}
	}
}

// object is a body with what every object has.
func object(t *testing.T, body string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := sigsyaml.Unmarshal([]byte(body), &obj); err != nil {
		t.Fatal(err)
	}
	obj["apiVersion"], obj["kind"], obj["metadata"] = "x.io/v1", "Shop", map[string]any{"name": "n"}
	return runtime.DeepCopyJSON(integers(obj).(map[string]any))
}

func TestTheEngineDeclines(t *testing.T) {
	live := object(t, "spec: {tags: [a]}")
	live["metadata"].(map[string]any)["annotations"] = map[string]any{lastApplied: "{}"}
	engine := &Engine{APIVersion: "x.io/v1", Kind: "Shop", Trees: map[string]*Tree{"x.io/v1": shop()}}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	other := object(t, "spec: {}")
	other["apiVersion"] = "x.io/v2"
	claims := object(t, "spec: {}")
	claims["metadata"].(map[string]any)["managedFields"] = []any{}
	for name, c := range map[string]struct {
		config  map[string]any
		manager string
		want    string
	}{
		"a field of another type":                   {object(t, "spec: {replicas: x}"), "m", "a value of another type than the schema has"},
		"a field that the schema does not have":     {object(t, "spec: {replica: 1}"), "m", "a field that the schema does not have"},
		"a set with the same item twice":            {object(t, "spec: {tags: [a, a]}"), "m", "items that are the same"},
		"an item without a key":                     {object(t, "spec: {tags: [{}]}"), "m", "an item of a set that is not a scalar"},
		"a configuration of another version":        {other, "m", "a configuration of another version"},
		"a configuration with managedFields":        {claims, "m", "a configuration with managedFields"},
		"what kubectl has applied itself until now": {object(t, "spec: {}"), "kubectl", "what kubectl applied by itself before"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := engine.Apply(live, c.config, NoManagers, c.manager, false, now)
			if err != nil || result.Declined != c.want {
				t.Errorf("declined for %q, %v; want %q", result.Declined, err, c.want)
			}
		})
	}
}
