package inspect

import (
	"encoding/json"
	"reflect"
	"testing"
)

// Numbers are int64 and float64, as in objects of Kubernetes' libraries.
func TestNumbersOfAChange(t *testing.T) {
	var c FieldChange
	text := `{"path": "spec", "was": {"n": 9007199254740993, "list": [1, 0.5]}, "is": 1e3, "owners": ["me"]}`
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	want := FieldChange{Path: "spec", Was: map[string]any{"n": int64(9007199254740993), "list": []any{int64(1), 0.5}}, Is: 1000.0, Owners: []string{"me"}}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%#v, want %#v", c, want)
	}
	const line = `spec: {"list":[1,0.5],"n":9007199254740993} → 1000`
	if c.String() != line {
		t.Errorf("%s, want %s", c, line)
	}
}
