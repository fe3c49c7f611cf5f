package fakecluster_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// folder makes a temporary folder of files and changes to it.
func folder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for path, content := range files {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(content), 0o644))
	}
}

// manifestOf returns the manifest of the CronTab with another plural and kind.
func manifestOf(plural, kind string) string {
	return strings.NewReplacer("crontabs", plural, "crontab", strings.ToLower(kind), "CronTab", kind, "- ct", "- "+plural[:3]).Replace(cronTabManifest)
}

func definitions(t testing.TB, c *fakecluster.Cluster) []string {
	t.Helper()
	l, err := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	found := []string{}
	for _, crd := range l.Items {
		found = append(found, crd.Name)
	}
	return found
}

func TestWithCRDPathsInstallsDefinitions(t *testing.T) {
	inJSON, err := yaml.YAMLToJSON([]byte(manifestOf("jsons", "Json")))
	must(t, err)
	folder(t, map[string]string{
		"one.yaml":                   "# nothing but a comment\n---\n" + manifestOf("ones", "One"),
		"crd/a.yaml":                 manifestOf("twos", "Two") + "---\n" + manifestOf("threes", "Three") + "---\n",
		"crd/deep/er/b.yml":          manifestOf("fours", "Four"),
		"crd/deep/c.json":            string(inJSON),
		"crd/kustomization.yaml":     "resources: [a.yaml]\n",
		"crd/deep/kustomization.yml": "resources: [er]\n",
		"crd/README.md":              "not a manifest",
	})
	must(t, os.Symlink("crd", "linked"))
	names := func(plurals ...string) []string {
		for i := range plurals {
			plurals[i] += ".stable.example.com"
		}
		return plurals
	}
	for _, c := range []struct {
		rule    string
		options []fakecluster.Option
		want    []string
	}{
		{"by default none", nil, []string{}},
		{"no path, none", []fakecluster.Option{fakecluster.WithCRDPaths()}, []string{}},
		{"those of a file", []fakecluster.Option{fakecluster.WithCRDPaths("one.yaml")}, names("ones")},
		{"those of a folder and its subfolders", []fakecluster.Option{fakecluster.WithCRDPaths("crd")}, names("fours", "jsons", "threes", "twos")},
		{"those of a folder that is a link", []fakecluster.Option{fakecluster.WithCRDPaths("linked")}, names("fours", "jsons", "threes", "twos")},
		{"those of several paths", []fakecluster.Option{fakecluster.WithCRDPaths("one.yaml", "crd/deep/er")}, names("fours", "ones")},
		{"those of several options", []fakecluster.Option{fakecluster.WithCRDPaths("one.yaml"), fakecluster.WithCRDPaths("crd/deep/er/b.yml")}, names("fours", "ones")},
	} {
		t.Run(c.rule, func(t *testing.T) {
			cluster := fakecluster.Start(t, append(c.options, fakecluster.InProcess())...)
			equal(t, "definitions", definitions(t, cluster), c.want)
			for _, name := range c.want {
				plural, _, _ := strings.Cut(name, ".")
				list(t, cluster.Dynamic().Resource(cronTabs.GroupVersion().WithResource(plural)))
			}
		})
	}
}

func TestWithCRDPathsNamesWhatItCannotInstall(t *testing.T) {
	folder(t, map[string]string{
		"kind/a.yaml":             "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: extra\n",
		"broken.yaml":             cronTabManifest + "---\nkind: [\n",
		"text.yaml":               "not an object\n",
		"twice.yaml":              cronTabManifest + "---\n" + cronTabManifest,
		"invalid.yaml":            strings.Replace(cronTabManifest, "name: crontabs.stable.example.com", "name: crontabs", 1),
		"empty/notes.txt":         "none here",
		"only/kustomization.yaml": "resources: []\n",
	})
	for path, want := range map[string]string{
		"kind":         `CRD path kind: no CustomResourceDefinition in it; WithManifests creates objects of other kinds`,
		"nowhere.yaml": `CRD path: stat nowhere.yaml: no such file or directory`,
		"empty":        `CRD path empty: there is no manifest in it`,
		"only":         `CRD path only: there is no manifest in it`,
		"twice.yaml":   `twice.yaml: document 2: customresourcedefinitions.apiextensions.k8s.io "crontabs.stable.example.com" already exists`,
		"invalid.yaml": `invalid.yaml: document 1: CustomResourceDefinition.apiextensions.k8s.io "crontabs" is invalid: ` +
			`metadata.name: Invalid value: "crontabs": must be spec.names.plural+"."+spec.group`,
	} {
		equal(t, path, refused(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(path)), want)
	}
	// The rest of these messages comes from the YAML library.
	for path, want := range map[string]string{"broken.yaml": "broken.yaml: document 2: ", "text.yaml": "text.yaml: document 1: "} {
		if got := refused(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(path)); !strings.HasPrefix(got, want) || got == want {
			t.Errorf("%s: %s, want %s…", path, got, want)
		}
	}
}

// withStatus returns the definition of the CronTab with the status subresource. The schema of the
// status has the field "replicas".
func withStatus() runtime.Object {
	crd := cronTabDefinition()
	u := unstructured.Unstructured{}
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	var err error
	u.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	must(err)
	u.SetAPIVersion("apiextensions.k8s.io/v1")
	u.SetKind("CustomResourceDefinition")
	versions, _, err := unstructured.NestedSlice(u.Object, "spec", "versions")
	must(err)
	version := versions[0].(object)
	version["subresources"] = object{"status": object{}}
	must(unstructured.SetNestedMap(version, object{"type": "object", "properties": object{"replicas": object{"type": "integer"}}},
		"schema", "openAPIV3Schema", "properties", "status"))
	must(unstructured.SetNestedSlice(u.Object, versions, "spec", "versions"))
	return &u
}

func TestWithObjectsCreatesInOrder(t *testing.T) {
	inTeam := cronTab("b")
	inTeam.SetNamespace("team")
	nowhere := cronTab("c")
	nowhere.SetNamespace("")
	full := cronTab("d")
	full.Object["status"] = object{"replicas": int64(3)}
	untouched := full.DeepCopy()

	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(
		cronTabDefinition(), // typed, and names no kind
		&corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"of": "typed"}},
			Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}, // is the server's to say
		},
		newNamespace("other"),
	), fakecluster.WithObjects(cronTab("a"), inTeam, nowhere, full))
	r := revision(t, getDefinition(t, c, definition)) + 1 // the APIService of its version comes next

	equal(t, "namespaces", names(list(t, c.Dynamic().Resource(namespaces))),
		[]string{"default", "kube-node-lease", "kube-public", "kube-system", "other", "team"})
	equal(t, "label", get(t, c.Dynamic().Resource(namespaces), "team").GetLabels(),
		map[string]string{"of": "typed", "kubernetes.io/metadata.name": "team"})
	equal(t, "phase", namespaceStatus(t, get(t, c.Dynamic().Resource(namespaces), "team")), corev1.NamespaceStatus{Phase: corev1.NamespaceActive})
	var got []object
	for _, u := range list(t, c.Dynamic().Resource(cronTabs)).Items {
		got = append(got, fixed(t, &u))
	}
	teams := stored("b", "my-awesome-cron-image", 1, r+4)
	teams["metadata"].(object)["namespace"] = "team"
	equal(t, "objects; no namespace is the default one, and without a subresource a field that the schema does not know is dropped", got, []object{
		stored("a", "my-awesome-cron-image", 1, r+3),
		stored("c", "my-awesome-cron-image", 1, r+5),
		stored("d", "my-awesome-cron-image", 1, r+6),
		teams,
	})
	equal(t, "the option's own object", full, untouched)
}

func TestWithObjectsWritesTheStatus(t *testing.T) {
	full := cronTab("a")
	full.Object["status"] = object{"replicas": int64(3)}
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(withStatus(), full))
	r := revision(t, getDefinition(t, c, definition)) + 1 // the APIService of its version comes next
	want := stored("a", "my-awesome-cron-image", 1, r+2)
	want["status"] = object{"replicas": int64(3)}
	equal(t, "object", fixed(t, get(t, inDefault(c), "a")), want)
}

func TestWithObjectsNamesWhatItCannotCreate(t *testing.T) {
	inTeam := cronTab("b")
	inTeam.SetNamespace("team")
	for _, c := range []struct {
		rule    string
		objects []runtime.Object
		want    string
	}{
		{"missing namespace", []runtime.Object{cronTabDefinition(), inTeam}, `object 1, CronTab "b": namespaces "team" not found`},
		{"missing kind", []runtime.Object{cronTab("a")}, `object 0, CronTab "a": no matches for kind "CronTab" in version "stable.example.com/v1"`},
		{"same name again", []runtime.Object{newNamespace("team"), newNamespace("team")}, `object 1, Namespace "team": namespaces "team" already exists`},
		{"invalid", []runtime.Object{newNamespace("No_Name")}, `object 0, Namespace "No_Name": Namespace "No_Name" is invalid: ` +
			`metadata.name: Invalid value: "No_Name": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ` +
			`and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			equal(t, "error", refused(t, fakecluster.InProcess(), fakecluster.WithObjects(c.objects...)), c.want)
		})
	}
	// The rest of this message names the place where client-go makes its scheme.
	const noKind = `object 0: the kind of *fakecluster_test.unknown is unknown: no kind is registered for the type fakecluster_test.unknown in scheme `
	if got := refused(t, fakecluster.InProcess(), fakecluster.WithObjects(&unknown{})); !strings.HasPrefix(got, noKind) {
		t.Errorf("type without a kind: %s, want %s…", got, noKind)
	}
	got := fatal(t, func(t testing.TB) { fakecluster.Start(t, fakecluster.WithObjects(cronTab("a"))) })
	equal(t, "Start", got, `fakecluster: object 0, CronTab "a": no matches for kind "CronTab" in version "stable.example.com/v1"`)
}

// unknown is a type that is in no scheme.
type unknown struct{ metav1.TypeMeta }

func (u *unknown) DeepCopyObject() runtime.Object { return &unknown{u.TypeMeta} }
