package explore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// A database needs its class, and a user needs a database: so a database does not need its users, nor the class the databases. An
// app that has its own name in its spec does not need the user of the same name.
func TestCustomResourcesDoNotNeedThoseThatReferToThem(t *testing.T) {
	class := object(t, `{kind: Class, metadata: {name: fast}}`)
	database := object(t, `{kind: Database, metadata: {name: orders}, spec: {storage: {class: fast}}}`)
	user := object(t, `{kind: User, metadata: {name: web}, spec: {databases: [orders]}}`)
	app := object(t, `{kind: App, metadata: {name: web}, spec: {host: web, color: red}}`)
	samples := []*unstructured.Unstructured{class, database, user, app}
	for i, from := range samples {
		for j, to := range samples {
			if got, want := dependsOn(from, to, samples), i > j && i < 3; got != want {
				t.Errorf("%s depends on %s: %t, want %t", from.GetKind(), to.GetKind(), got, want)
			}
		}
	}
}

// The values of a Secret change, except for what would not be valid any more, and go away. Of a custom resource, each field of the spec changes once.
func TestWhatACustomResourceNeedsChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		need need
		want string
	}{
		"a Secret": {need{name: "secrets default/a", object: object(t, `{kind: Secret, data: {b: LS0tCmtleQ==, a: bm8=}, stringData: {c: "---\nkey", d: g}}`)},
			`edit-need secrets default/a /data/a "bm8y"; edit-need secrets default/a /data/a null; edit-need secrets default/a /data/b null; ` +
				`edit-need secrets default/a /data/c null; edit-need secrets default/a /data/d "ZzI="; edit-need secrets default/a /data/d null`},
		"a ConfigMap": {need{name: "configmaps default/a", object: object(t, `{kind: ConfigMap, data: {a: "1"}}`)},
			`edit-need configmaps default/a /data/a "12"; edit-need configmaps default/a /data/a null`},
		"a Service": {need{name: "services default/a", object: object(t, `{kind: Service, spec: {ports: [{port: 80}]}}`)}, ""},
		"a custom resource": {need{name: "classes.example.com a", object: object(t, `{kind: Class, spec: {color: red}}`), schema: &apiextensionsv1.JSONSchemaProps{
			Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"color": {Type: "string"}, "fast": {Type: "boolean"}}}}}},
			`edit-need classes.example.com a /spec/color "explored"; edit-need classes.example.com a /spec/fast true`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, generate.Text(tt.need.edits())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The status of a need says that another custom resource is in the way only if the other one does not have the same need.
func TestTheStatusOfACommonNeedExcusesNothing(t *testing.T) {
	class := need{name: "classes.example.com fast", schema: &apiextensionsv1.JSONSchemaProps{}}
	database := need{name: "databases.example.com default/orders", schema: &apiextensionsv1.JSONSchemaProps{}}
	secret := need{name: "secrets default/password"}
	one := &seed{name: "users.example.com default/web", needs: []need{class, database, secret}}
	other := &seed{name: "users.example.com default/api", needs: []need{class}}
	if diff := cmp.Diff([]string{"users.example.com default/web", "databases.example.com default/orders"}, one.reporting(other)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"users.example.com default/api"}, other.reporting(one)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
