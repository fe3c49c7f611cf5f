package explore

import (
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// A field that the operator neither applies nor updates is not its own. If the object was not applied, all its fields are.
func TestFieldsThatTheOperatorLeaves(t *testing.T) {
	const spec = `{kind: Machine, metadata: {name: a, labels: {x/y: z}, managedFields: [
  {manager: other, operation: Update, fieldsV1: {"f:spec": {"f:timeout": {}}}},
  {manager: operator, operation: %, fieldsV1: {"f:metadata": {"f:labels": {"f:x/y": {}}}, "f:spec": {"f:size": {}, "f:ports": {'k:{"port":80}': {".": {}, "f:name": {}}}, "f:names": {}, "f:parts": {'v:"a"': {}}}}},
  {manager: operator.test, operation: Update, fieldsV1: {"f:spec": {"f:window": {}}}}
]}, spec: {parts: [a, b], window: 5, timeout: 10, size: 2, ports: [{port: 79, name: b}, {port: 80, name: a, protocol: TCP}], names: [a, b]}}`
	for path, want := range map[string]bool{
		"/spec/timeout": true, "/spec/size": false, "/spec/ports/1/name": false, "/spec/ports/1/protocol": true, "/spec/ports/0/name": true, "/spec/ports/9/name": true,
		"/spec/names/0": false, "/spec/window": false, "/spec/parts/0": false, "/spec/parts/1": true, "/metadata/labels/x~1y": false, "/metadata/labels/z": true,
	} {
		for operation, leaves := range map[string]bool{"Apply": want, "Update": false} {
			u := object(t, strings.Replace(spec, "%", operation, 1))
			if got := leavesField(state.Object{Resource: "machines.example.com", Unstructured: u}, path, []string{"operator.test"}); got != leaves {
				t.Errorf("%s after %s: %t, want %t", path, operation, got, leaves)
			}
		}
	}
}
