package explore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A field belongs to the managers that have applied it, or have updated it.
func TestFieldsThatManagersSet(t *testing.T) {
	const spec = `{kind: Machine, metadata: {name: a, labels: {x/y: z}, managedFields: [
  {manager: other, operation: Update, fieldsV1: {"f:spec": {"f:timeout": {}}}},
  {manager: operator, operation: Apply, fieldsV1: {"f:metadata": {"f:labels": {"f:x/y": {}}}, "f:spec": {"f:size": {}, "f:ports": {'k:{"port":80}': {".": {}, "f:name": {}}}, "f:names": {}, "f:parts": {'v:"a"': {}}}}},
  {manager: operator.test, operation: Update, fieldsV1: {"f:spec": {"f:window": {}}}}
]}, spec: {parts: [a, b], window: 5, timeout: 10, size: 2, ports: [{port: 79, name: b}, {port: 80, name: a, protocol: TCP}], names: [a, b]}}`
	u := object(t, spec)
	managers := map[string]bool{"operator": true, "operator.test": true}
	for path, want := range map[string]bool{
		"/spec/timeout": false, "/spec/size": true, "/spec/ports/1/name": true, "/spec/ports/1/protocol": false, "/spec/ports/0/name": false, "/spec/ports/9/name": false,
		"/spec/names/0": true, "/spec/window": true, "/spec/parts/0": true, "/spec/parts/1": false, "/metadata/labels/x~1y": true, "/metadata/labels/z": false,
	} {
		if got := isSet(u, path, managers); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
}

// What only others have set is not part of what some managers have set. What nobody has set is.
func TestFieldsWithoutThoseOfOthers(t *testing.T) {
	others := map[string]any{
		"f:status": map[string]any{},
		"f:spec": map[string]any{"f:replicas": map[string]any{}, "f:size": map[string]any{},
			"f:ports": map[string]any{`k:{"port":80}`: map[string]any{".": map[string]any{}, "f:port": map[string]any{}, "f:name": map[string]any{}}, `k:{"port":81}`: map[string]any{"f:name": map[string]any{}}},
			"f:parts": map[string]any{`v:"a"`: map[string]any{}, `v:"b"`: map[string]any{}}},
	}
	own := map[string]any{"f:spec": map[string]any{"f:size": map[string]any{}, "f:parts": map[string]any{`v:"b"`: map[string]any{}}}}
	u := object(t, `{kind: Machine, spec: {replicas: 3, size: 2, window: 5, ports: [{port: 80, name: a}, {port: 81, name: b}], parts: [a, b, c]}, status: {ready: true}}`)
	want := object(t, `{kind: Machine, spec: {size: 2, window: 5, ports: [{port: 81}], parts: [b, c]}}`).Object
	if diff := cmp.Diff(want, withoutFields(u.Object, others, own)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
