package benchmarks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// modules is where the go.mod stands that names the modules with the real definitions,
// and their versions. It is that of the part realcrds of the conformance suite.
var modules = filepath.Join("..", "conformance", "realcrds", "modules")

// lives are the names of the kinds that are measured; each has a file in testdata/life.
var lives = []string{"CronTab", "Certificate", "Machine", "Prometheus", "VirtualService", "Deployment", "Pod"}

// kind is a kind with the objects that the operations write, as its file in
// testdata/life describes them. A part of an object is JSON with placeholders: see
// object.
type kind struct {
	// Definition is where the CustomResourceDefinition is: a file of a module, or of
	// this folder if no module is named.
	Definition struct{ Module, File, Name, Version string }
	// Resource names a built-in kind, which has no definition.
	Resource schema.GroupVersionResource
	// Plain: the object stands as its user has created it. Otherwise a controller
	// has written its status, and a third manager has applied a part.
	Plain bool
	// CountsAnnotations: a change of annotations is a new generation.
	CountsAnnotations bool
	// Object is what the user creates, Status what the controller writes first.
	Object, Status json.RawMessage
	// NextStatus has the fields of the status that the controller changes.
	NextStatus json.RawMessage
	// Applied is the part that the third manager applies.
	Applied json.RawMessage
	// Patch is a merge patch of the user's.
	Patch json.RawMessage

	definition *unstructured.Unstructured // nil: the kind is built in
}

func loadKind(t testing.TB, name string) kind {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "life", strings.ToLower(name)+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var k kind
	if err := sigsyaml.UnmarshalStrict(text, &k); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	d := k.Definition
	if d.Name == "" {
		return k
	}
	if k.definition, err = findDefinition(d.Module, d.File, d.Name); err != nil {
		t.Fatal(err)
	}
	plural, group, _ := strings.Cut(d.Name, ".")
	k.Resource = schema.GroupVersionResource{Group: group, Version: d.Version, Resource: plural}
	return k
}

// fill is a part of the kind's objects. In it $NAME becomes the name and $N a number:
// a value that is $N alone becomes a number, and within a longer string $N becomes its
// digits. Numbers and names are as long as each other, so that all answers to an
// operation have the same size.
func fill(part json.RawMessage, name string, n int) map[string]any {
	digits := strconv.Itoa(n)
	text := strings.NewReplacer("$NAME", name, `"$N"`, digits, "$N", digits).Replace(string(part))
	var filled map[string]any
	if err := utiljson.Unmarshal([]byte(text), &filled); err != nil {
		panic(err) // loadKind has decoded the part
	}
	return filled
}

// object is what the user creates.
func (k kind) object(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: fill(k.Object, name, 0)}
}

// applied is what the third manager applies, in its nth revision.
func (k kind) applied(name string, n int) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: fill(k.Applied, name, n)}
	whole := k.object(name)
	u.SetGroupVersionKind(whole.GroupVersionKind())
	u.SetNamespace(whole.GetNamespace())
	u.SetName(name)
	return u
}

// withNextStatus is an object with the nth change of its status.
func (k kind) withNextStatus(u *unstructured.Unstructured, n int) *unstructured.Unstructured {
	u = u.DeepCopy()
	status, _ := u.Object["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
		u.Object["status"] = status
	}
	for field, value := range fill(k.NextStatus, "", n) {
		status[field] = value
	}
	return u
}

// findDefinition returns the CustomResourceDefinition of this name in a file.
func findDefinition(module, file, name string) (*unstructured.Unstructured, error) {
	if module != "" {
		folder, err := moduleFolder(module)
		if err != nil {
			return nil, err
		}
		file = filepath.Join(folder, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(&u.Object); errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s has no definition %s", file, name)
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if u.GetKind() == "CustomResourceDefinition" && u.GetName() == name {
			return u, nil
		}
	}
}

var folders sync.Map // of modules, by path

// moduleFolder is the folder of a module in the module cache.
func moduleFolder(module string) (string, error) {
	if folder, ok := folders.Load(module); ok {
		return folder.(string), nil
	}
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = modules
	// A workspace would override the versions that the go.mod names.
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("downloading %s: %w\n%s", module, err, out)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("downloading %s: %w", module, err)
	}
	folders.Store(module, found.Dir)
	return found.Dir, nil
}
