package description_test

import (
	"flag"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the types of module remote")

// Types of these packages are those of module remote, too. The module has copies of their files, because it imports nothing: what they take from
// Kubernetes' libraries is plain there. These files are not copied: module remote has its own.
var copied = map[string][]string{
	"faults":             {"doc.go", "hold.go"},
	"inspect":            {"doc.go"},
	"internal/bubble":    {"left.go", "mistake.go", "passing.go", "peers_linux.go", "peers_other.go", "resolve.go"},
	"internal/callers":   {},
	"internal/collector": {},
	"internal/printable": {},
}

// alone are files that are copied although the other files of their package are not.
var alone = []string{"explore/oracle.go", "explore/recorder.go", "explore/result.go", "explore/testflags.go", "explore/trialtest.go"}

// sources returns the files that are copied.
func sources(t *testing.T) []string {
	t.Helper()
	found := slices.Clone(alone)
	for folder, own := range copied {
		files, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if name := filepath.Base(file); !strings.HasSuffix(name, "_test.go") && !slices.Contains(own, name) {
				found = append(found, folder+"/"+name)
			}
		}
	}
	return found
}

// plain is what stands in module remote in place of something else.
var plain = []struct{ text, remote string }{
	{`"github.com/fakecluster/fakecluster/internal/`, `"github.com/fakecluster/fakecluster/remote/internal/`},
	{"metav1.StatusReason", "string"},
	{"watch.EventType", "string"},
	{"watch.Deleted", `"DELETED"`},
	{"*unstructured.Unstructured", "map[string]any"},
	{"for stack := range strings.SplitSeq(", "for _, stack := range strings.Split("}, // of Go 1.24
	{`"k8s.io/apimachinery/pkg/util/json"`, `"github.com/fakecluster/fakecluster/remote/internal/json"`},
}

// importOfKubernetes is the import of one of Kubernetes' libraries.
var importOfKubernetes = regexp.MustCompile(`(?m)^\t(\w+ )?"k8s\.io/.*"\n`)

// TestRemoteHasTheTypes fails for a file of module remote that is not the copy of that of fakecluster.
func TestRemoteHasTheTypes(t *testing.T) {
	for _, file := range sources(t) {
		content, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(content)
		for _, p := range plain {
			text = strings.ReplaceAll(text, p.text, p.remote)
		}
		text = importOfKubernetes.ReplaceAllString(text, "")
		text = "// Code generated from " + file + " by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.\n\n" + text
		want, err := format.Source([]byte(strings.ReplaceAll(text, "\n\n\n", "\n\n")))
		if err != nil {
			t.Fatal(err)
		}
		name := "../../remote/" + file
		if *update {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != string(want) {
			t.Errorf("remote/%s is not the copy of that of fakecluster: go test ./internal/description -run RemoteHasTheTypes -update writes it", file)
		}
	}
}
