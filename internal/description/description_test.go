package description_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/description"
)

// Each option has a name, a documentation and, if it has one, a name as an option of Go. Module remote, which cannot import the description, sends the
// same names.
func TestEachOptionIsDescribed(t *testing.T) {
	text := func(pattern string) string {
		t.Helper()
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		var b strings.Builder
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(content)
		}
		return b.String()
	}
	library, remote := text("../../fakecluster/*.go"), text("../../remote/option.go")
	var names []string
	for _, o := range description.Options() {
		if o.Name == "" || o.Doc == "" || slices.Contains(names, o.Name) || strings.HasSuffix(o.Doc, ".") {
			t.Errorf("%+v has no name, no documentation, a full stop, or a name that another option has", o)
		}
		names = append(names, o.Name)
		if o.Func != "" && !strings.Contains(library, "\nfunc "+o.Func+"(") {
			t.Errorf("%s: package fakecluster has no option %s", o.Name, o.Func)
		}
		if o.Name != "snapshot" && !strings.Contains(remote, `"`+o.Name+`"`) { // remote sends the content of a snapshot
			t.Errorf("module remote does not send %s", o.Name)
		}
	}
	sent := regexp.MustCompile(`(?:list|paths|enabled|once)\((?:"\w+", )?"(\w+)"`)
	for _, m := range sent.FindAllStringSubmatch(text("../../remote/option.go"), -1) {
		if !slices.Contains(names, m[1]) && m[1] != "kubernetesVersion" && m[1] != "workloads" {
			t.Errorf("module remote sends %s, which is no option", m[1])
		}
	}
}

// The flags set the fields.
func TestFlags(t *testing.T) {
	var got description.Cluster
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	description.AddFlags(flags, &got)
	err := flags.Parse([]string{"--crds", "a", "--crds", "b,c", "--enable-admission-plugins", "x,y", "--legacy-apis", "--without-namespace-lifecycle", "--runtime-config=api/all=true"})
	if err != nil {
		t.Fatal(err)
	}
	want := description.Cluster{CRDPaths: []string{"a", "b,c"}, WithAdmissionPlugins: []string{"x", "y"}, LegacyAPIs: true, WithoutNamespaceLifecycle: true,
		RuntimeConfig: []string{"api/all=true"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := flags.Lookup("crds").Usage; got != "files and folders whose CustomResourceDefinitions are installed; other kinds in them are ignored; may be repeated" {
		t.Errorf("usage: %s", got)
	}
}

// Each field alone becomes an option, and paths are known as such.
func TestEachFieldIsAnOption(t *testing.T) {
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	if err := os.WriteFile(snapshot, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	build := func(folder string) ([]runtime.Object, error) { return nil, nil }
	for _, o := range description.Options() {
		var c description.Cluster
		paths := 0
		switch value := o.Value(&c).(type) {
		case *[]string:
			*value = []string{"a"}
			paths = strings.Count(o.Name, "Path") + strings.Count(o.Name, "manifests") + strings.Count(o.Name, "kustomize")
		case *string:
			*value = "a"
			switch o.Name {
			case "snapshot":
				*value, paths = snapshot, 1
			case "snapshotData":
				*value = "YQ=="
			case "dataFile":
				paths = 1
			case "fsync": // belongs to the file
				c.DataFile, paths = "b", 1
			}
		case *bool:
			*value = true
		case *int:
			*value = 1
		case *int64:
			*value = 1
		case **uint64:
			*value = new(uint64(1))
		case **int:
			*value = new(1)
		case **metav1.Duration:
			*value = &metav1.Duration{Duration: time.Minute}
		default:
			t.Fatalf("%s has a type that this test does not know: %T", o.Name, value)
		}
		options, err := c.Options(build)
		if err != nil || len(options) != 1 {
			t.Errorf("%s: %d options, %v", o.Name, len(options), err)
		}
		if got := len(c.Paths()); got != paths {
			t.Errorf("%s: %d paths, want %d", o.Name, got, paths)
		}
	}
	if options, err := (description.Cluster{}).Options(nil); len(options) > 0 || err != nil {
		t.Errorf("nothing: %d options, %v", len(options), err)
	}
}

// The documentation of controllers lists those that act by default.
func TestTheDefaultControllersAreDocumented(t *testing.T) {
	options := description.Options()
	i := slices.IndexFunc(options, func(o description.Option) bool { return o.Name == "controllers" })
	_, got, _ := strings.Cut(options[i].Doc, "default: ")
	var want []string
	for _, c := range fakecluster.DefaultControllers() {
		want = append(want, string(c))
	}
	if got != strings.Join(want, ", ") {
		t.Errorf("the default is documented as %s, and is %v", got, want)
	}
}

// What is described has its effect.
func TestADescribedCluster(t *testing.T) {
	ctx := t.Context()
	start := func(d description.Cluster) *fakecluster.Cluster {
		t.Helper()
		options, err := d.Options(nil)
		if err != nil {
			t.Fatal(err)
		}
		return fakecluster.Start(t, append(options, fakecluster.InProcess())...)
	}
	lost := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "lost", Namespace: "nowhere"}}
	if _, err := start(description.Cluster{}).Clientset().CoreV1().ConfigMaps("nowhere").Create(ctx, lost, metav1.CreateOptions{}); err == nil ||
		err.Error() != `namespaces "nowhere" not found` {
		t.Errorf("without options: %v", err)
	}
	lax := start(description.Cluster{WithoutNamespaceLifecycle: true})
	if _, err := lax.Clientset().CoreV1().ConfigMaps("nowhere").Create(ctx, lost, metav1.CreateOptions{}); err != nil {
		t.Errorf("withoutNamespaceLifecycle: %v", err)
	}
	first, err := start(description.Cluster{Seed: new(uint64(7))}).Clientset().CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := start(description.Cluster{Seed: new(uint64(7))}).Clientset().CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
	if err != nil || first.UID != second.UID {
		t.Errorf("seed: %v, %s and %s", err, first.UID, second.UID)
	}
}

func TestMistakesInADescription(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	for want, d := range map[string]description.Cluster{
		"snapshot and snapshotData exclude each other; give one of them":                                        {Snapshot: "a", SnapshotData: "b"},
		"fsync needs dataFile: give the path of the file, too":                                                  {Fsync: "always"},
		"snapshotData is not base64: encode the answer of GET /v1/clusters/CLUSTER/snapshot":                    {SnapshotData: "%"},
		"open " + missing + ": no such file or directory":                                                       {Snapshot: missing},
		"the snapshot " + filepath.Dir(missing) + " is not a regular file; write one with fakecluster snapshot": {Snapshot: filepath.Dir(missing)},
	} {
		if _, err := d.Options(nil); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if !(description.Cluster{}).IsZero() || (description.Cluster{Controllers: []string{}}).IsZero() {
		t.Error("an empty list of controllers is an option, and nothing is none")
	}
}
