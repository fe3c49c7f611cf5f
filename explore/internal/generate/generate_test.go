package generate

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

func TestStepsAreReadAsTheyAreWritten(t *testing.T) {
	for _, text := range []string{
		"create",
		"create; delete",
		"create & delete",
		`set /spec/replicas 3; create; remove /spec/image & set /spec/page "a; b & c"; restart`,
		`create; edit-owned deployments.apps default/home /spec/replicas 5; delete-owned services home`,
		`fail; withdraw secrets default/a; create; provide secrets default/a; heal; neighbor`,
		`edit-need secrets default/a /data/key null; create; namesake`,
		`set /metadata/labels/explore.example.com~1label {"a":[1,2.5,null,true,"<"]}`,
	} {
		steps, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := Text(steps); got != text {
			t.Errorf("got  %s\nwant %s", got, text)
		}
	}
}

func TestStepsThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"make":                       `unknown step "make"; the steps are create, delete, delete-owned, downgrade, edit-need, edit-owned, fail, heal, mark, namesake, neighbor, occupy, provide, remove, restart, rewrite, set, upgrade, withdraw`,
		"set spec 3":                 `the step set needs a path that begins with a slash, such as /spec/replicas, not "spec"`,
		"set /spec x":                `the value of the step set /spec is not JSON: invalid character 'x' looking for beginning of value`,
		"delete-owned deployments":   "the step delete-owned needs an object, such as deployments.apps default/home",
		"create delete":              `a semicolon or & must follow the step "create", not "delete"`,
		"create; set /spec/a 1 more": `a semicolon or & must follow the step "set /spec/a 1", not "more"`,
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestEdits(t *testing.T) {
	object := map[string]any{"spec": map[string]any{"replicas": int64(1), "items": []any{"a", "b"}}}
	for text, want := range map[string]string{
		"set /spec/replicas 3":                  `{"spec":{"items":["a","b"],"replicas":3}}`,
		"remove /spec/replicas":                 `{"spec":{"items":["a","b"]}}`,
		"remove /spec/none/below":               `{"spec":{"items":["a","b"],"replicas":1}}`,
		"set /spec/items/1 5":                   `{"spec":{"items":["a",5],"replicas":1}}`,
		"set /spec/items/2 5":                   `{"spec":{"items":["a","b",5],"replicas":1}}`,
		"remove /spec/items/0":                  `{"spec":{"items":["b"],"replicas":1}}`,
		`set /metadata/labels/a.b~1c "d"`:       `{"metadata":{"labels":{"a.b/c":"d"}},"spec":{"items":["a","b"],"replicas":1}}`,
		"set /spec/a/b 1; remove /spec/a/b":     `{"spec":{"a":{},"items":["a","b"],"replicas":1}}`,
		"set /spec/items []; remove /spec":      `{}`,
		"restart; set /spec/replicas 2; create": `{"spec":{"items":["a","b"],"replicas":2}}`,
	} {
		steps, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Edit(object, steps...)
		if err != nil || jsonOf(got) != want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", text, jsonOf(got), err, want)
		}
	}
	if got := jsonOf(object); got != `{"spec":{"items":["a","b"],"replicas":1}}` {
		t.Errorf("the object itself has changed: %s", got)
	}
	for text, want := range map[string]string{
		"set /spec/items/4 1":    "set /spec/items/4 1: the list has no item 4",
		"remove /spec/items/2":   "remove /spec/items/2: the list has no item 2",
		"set /spec/replicas/a 1": "set /spec/replicas/a 1: a is not below an object or a list",
	} {
		steps, _ := Parse(text)
		if _, err := Edit(object, steps...); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

const schemaText = `
type: object
required: [spec]
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object}
  status: {type: object, properties: {ready: {type: boolean}}}
  spec:
    type: object
    required: [host]
    properties:
      host: {type: string, minLength: 1, maxLength: 20}
      image: {type: string}
      mode: {type: string, enum: [Fast, Safe]}
      replicas: {type: integer, format: int32, minimum: 1, maximum: 9, default: 2}
      timeout: {type: string, pattern: '^[0-9]+(ms|s)$'}
      memory: {x-kubernetes-int-or-string: true, pattern: '^([+-]?[0-9.]+)([eEinumkKMGTPE]*[-+]?[0-9]*)$'}
      paused: {type: boolean}
      nodeName: {type: string}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name, port]
          properties: {name: {type: string}, port: {type: integer, minimum: 1}}
      storage:
        type: object
        properties:
          disk: {type: object, required: [size], properties: {size: {type: string}}}
          bucket: {type: object, required: [url], properties: {url: {type: string, format: uri}}}
      labels: {type: object, additionalProperties: {type: string}}
`

func readSchema(t *testing.T) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	s := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.UnmarshalStrict([]byte(schemaText), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Each property is set, removed and moved to its bounds; a list loses and gets items by their keys; a union is switched.
func TestChangesOfASample(t *testing.T) {
	object := map[string]any{"spec": map[string]any{
		"host": "a", "mode": "Fast", "replicas": int64(2), "paused": true,
		"ports":   []any{map[string]any{"name": "http", "port": int64(80)}, map[string]any{"name": "admin", "port": int64(81)}},
		"storage": map[string]any{"disk": map[string]any{"size": "1Gi"}},
	}}
	var got []string
	for _, c := range Changes(readSchema(t), object) {
		got = append(got, Text(c.Steps))
		changed, err := Edit(object, c.Steps...)
		if err != nil {
			t.Errorf("%s: %v", Text(c.Steps), err)
		}
		back, err := Edit(changed, c.Undo...)
		if removed := len(c.Undo) == 1 && c.Undo[0].Verb == Remove; err != nil || !removed && !reflect.DeepEqual(back, object) {
			t.Errorf("%s is not undone by %s: %s, %v", Text(c.Steps), Text(c.Undo), jsonOf(back), err)
		}
	}
	for _, want := range []string{
		`set /spec/host "explored.example.com"`,
		`set /spec/host "a2"`,
		`set /spec/host "xxxxxxxxxxxxxxxxxxxx"`,
		`set /spec/image "registry.example.com/explored:2.0"`,
		`remove /spec/mode`,
		`set /spec/mode "Safe"`,
		`set /spec/replicas 3`,
		`set /spec/replicas 1`,
		`set /spec/replicas 9`,
		`remove /spec/replicas`,
		`set /spec/timeout "30s"`,
		`set /spec/timeout "1ms"`,
		`set /spec/memory "500m"`,
		`set /spec/paused false`,
		`set /spec/ports/0/port 81`,
		`set /spec/ports [{"name":"admin","port":81}]`,
		`set /spec/ports [{"name":"http","port":80},{"name":"admin","port":81},{"name":"explored","port":81}]`,
		`set /spec/ports [{"name":"admin","port":81},{"name":"http","port":80}]`,
		`set /spec/ports []`,
		`remove /spec/storage/disk & set /spec/storage/bucket {"url":"https://explored.example.com/path"}`,
		`set /spec/labels {"explored":"explored"}`,
		`set /metadata/labels/explore.example.com~1label "explored"`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("this change is missing: %s", want)
		}
	}
	for _, text := range got {
		for _, never := range []string{"status", `"" `, "/spec/replicas 0", "/spec/replicas 10", "remove /spec/host", `/spec/host ""`, "nodeName"} {
			if strings.Contains(text, never) {
				t.Errorf("this change cannot be valid: %s", text)
			}
		}
	}
	again := Changes(readSchema(t), object)
	var second []string
	for _, c := range again {
		second = append(second, Text(c.Steps))
	}
	if diff := cmp.Diff(got, second); diff != "" {
		t.Errorf("the changes differ from call to call (-first +second):\n%s", diff)
	}
}

func TestTheLeastObject(t *testing.T) {
	if got, want := jsonOf(Minimal(readSchema(t))), `{"spec":{"host":"explored.example.com"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTextsThatMatchAPattern(t *testing.T) {
	for pattern, want := range map[string][]any{
		`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`: {"xxx", "x"},
		`^(Always|Never)$`:                {"Always", "Always"},
		`^\d{3}-[A-F]+$`:                  {"111-A", "111-A"},
		`^v1(\.[0-9]+)?$`:                 {"v1.1", "v1"},
		`[`:                               nil,
	} {
		if diff := cmp.Diff(want, matching(pattern)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pattern, diff)
		}
	}
}

func TestIntegersKeepTheirBounds(t *testing.T) {
	for name, tt := range map[string]struct {
		schema apiextensionsv1.JSONSchemaProps
		like   any
		want   []any
	}{
		"no bounds":  {apiextensionsv1.JSONSchemaProps{Type: "integer"}, int64(5), []any{int64(6), int64(8), int64(4), int64(10), int64(0), int64(1)}},
		"bounds":     {apiextensionsv1.JSONSchemaProps{Type: "integer", Minimum: ptr.To(4.0), Maximum: ptr.To(6.0)}, int64(5), []any{int64(6), int64(4)}},
		"exclusive":  {apiextensionsv1.JSONSchemaProps{Type: "integer", Minimum: ptr.To(0.0), ExclusiveMinimum: true}, nil, []any{int64(1), int64(3)}},
		"a multiple": {apiextensionsv1.JSONSchemaProps{Type: "integer", MultipleOf: ptr.To(10.0)}, int64(20), []any{int64(30), int64(50), int64(10), int64(40), int64(0)}},
	} {
		if diff := cmp.Diff(tt.want, values("n", &tt.schema, tt.like)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Quantities and durations are changed in relation to what is there: twice, half, and the same in another unit.
func TestQuantitiesAndDurationsAreRelative(t *testing.T) {
	const pattern = `^([+-]?[0-9.]+)([eEinumkKMGTPE]*[-+]?[0-9]*)$`
	for name, tt := range map[string]struct {
		field  string
		schema apiextensionsv1.JSONSchemaProps
		like   any
		want   []any
	}{
		"a size":                {"size", apiextensionsv1.JSONSchemaProps{Type: "string"}, "10Gi", []any{"20Gi", "5Gi", "10240Mi", "2Gi", "10Gi2", ""}},
		"an odd size":           {"memory", apiextensionsv1.JSONSchemaProps{Type: "string"}, "1Mi", []any{"2Mi", "512Ki", "1024Ki", "2Gi", "1Mi2", ""}},
		"cores":                 {"cpu", apiextensionsv1.JSONSchemaProps{XIntOrString: true, Pattern: pattern}, "500m", []any{"1", "250m", "0.5", "2", "1Gi", int64(1), "25%"}},
		"cores as a number":     {"cpu", apiextensionsv1.JSONSchemaProps{XIntOrString: true, Pattern: pattern}, int64(2), []any{"4", "1", "2000m", "2", "500m", "1Gi", int64(1), "25%"}},
		"no quantity":           {"size", apiextensionsv1.JSONSchemaProps{Type: "string"}, "large", []any{"2Gi", "large2", ""}},
		"a duration":            {"timeout", apiextensionsv1.JSONSchemaProps{Type: "string"}, "90s", []any{"3m0s", "45s", "90000ms", "1h0m0s", "30s", "90s2", ""}},
		"a duration by format":  {"wait", apiextensionsv1.JSONSchemaProps{Type: "string", Format: "duration"}, "1h0m0s", []any{"2h0m0s", "30m0s", "3600s", "30s"}},
		"a duration of nothing": {"timeout", apiextensionsv1.JSONSchemaProps{Type: "string"}, "0s", []any{"1h0m0s", "30s", "0s2", ""}},
	} {
		if diff := cmp.Diff(tt.want, values(tt.field, &tt.schema, tt.like)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
