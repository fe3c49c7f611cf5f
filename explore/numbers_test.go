package explore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Everybody expects labels, and fields with certain names, on the objects that an operator makes, unless they are switched off or for a template.
func TestFieldsWhoseNamesSayWhatTheyAreFor(t *testing.T) {
	stored := map[string]any{"spec": map[string]any{"metrics": map[string]any{"enabled": false}}}
	for path, want := range map[string]bool{
		"/spec/nodeSelector": true, "/spec/color": false, "/spec/backup/suspend": true, "/spec/backup/color": false, "/spec/users/0/image": true,
		"/spec/podLabels": true, "/spec/podLabels/explored": true, "/spec/service/annotations/explored": true, "/spec/selector/matchLabels": false,
		"/spec/template/metadata/labels": false, "/spec/jobTemplate/spec/suspend": false, "/spec/metrics/image": false, "/spec/metrics/labels/a": false,
		"/spec/dropLabels": false, "/spec/ignoredAnnotations/a": false, "/spec/excluded/labels": false, "/spec/podSelector/labels": false, "/spec/backup/nodeSelector": true,
	} {
		if got := isPlain(path, stored); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
}

// Zero is a number like others if the schema says so.
func TestZeroIsANumber(t *testing.T) {
	s := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.Unmarshal([]byte(`
properties:
  spec:
    properties:
      low: {type: integer, minimum: 0}
      other: {type: integer, default: 3}
      zero: {type: integer, default: 0}
      any: {type: integer}
      list: {items: {properties: {low: {minimum: 0}}}}
      map: {additionalProperties: {minimum: 0}}`), s); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/spec/low": true, "/spec/other": true, "/spec/zero": false, "/spec/any": false, "/spec/list/0/low": true, "/spec/map/a": true, "/spec/none": false} {
		if got := allowsZero(s, path); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
}

// A number that does not come where two others do is a finding. One alone may be chance.
func TestANumberThatIsNotFollowed(t *testing.T) {
	const place = "cronjobs.batch default/a/spec/history"
	leadsTo := func(n int64) *effect {
		return &effect{numbers: map[string]int64{place: n, "services default/a/spec/port": 3}}
	}
	for name, tt := range map[string]struct {
		tried map[int64]*effect
		want  string
	}{
		"each is followed":    {map[int64]*effect{1: leadsTo(1), 3: leadsTo(3), 5: leadsTo(5)}, ""},
		"one is capped":       {map[int64]*effect{1: leadsTo(1), 3: leadsTo(3), 9: leadsTo(5)}, "/spec/keep 9 leads to 5 at " + place + ", where 1 comes as it is, and the status does not say that"},
		"chance":              {map[int64]*effect{1: leadsTo(7), 3: leadsTo(3), 9: leadsTo(7)}, ""},
		"the object is gone":  {map[int64]*effect{1: leadsTo(1), 2: leadsTo(2), 0: {}}, ""},
		"no number was tried": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if w := (numbers{tt.tried}).unfollowed("stores.example.com", "/spec/keep"); w != nil {
				got = w.problem.what
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A place in a list is that of an item by its name, or in a list of the same length: a number may add or remove items before it.
func TestPlacesOfNumbersInLists(t *testing.T) {
	var value map[string]any
	if err := utilyaml.Unmarshal([]byte(`{ports: [{name: http, port: 80}, {name: metrics, port: 81}], weights: [5, {port: 82}], status: {port: 83}}`), &value); err != nil {
		t.Fatal(err)
	}
	got, want := map[string]int64{}, map[string]int64{"a/ports/http/port": 80, "a/ports/metrics/port": 81, "a/weights/0 of 2": 5, "a/weights/1 of 2/port": 82}
	collectNumbers("a", value, got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
