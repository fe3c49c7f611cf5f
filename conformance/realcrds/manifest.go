package realcrds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fakecluster/fakecluster/conformance/gotool"
)

// shippers are the modules whose definitions are installed; their versions stand in
// modules/go.mod.
var shippers = []string{
	"github.com/cert-manager/cert-manager",
	"github.com/prometheus-operator/prometheus-operator",
	"istio.io/api",
	"sigs.k8s.io/cluster-api",
}

// manifest is a CustomResourceDefinition as it is shipped.
type manifest struct {
	module, file string
	object       *unstructured.Unstructured
}

func (m manifest) String() string {
	return fmt.Sprintf("%s %s %s", m.module, m.file, m.object.GetName())
}

// shipped returns the definitions in the modules, each once: what is the same in
// several files counts for the first of them.
func shipped(ctx context.Context) ([]manifest, error) {
	folders, err := moduleFolders(ctx)
	if err != nil {
		return nil, err
	}
	var manifests []manifest
	for _, module := range shippers {
		found, err := inFolder(os.DirFS(folders[module]))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", module, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s ships no definitions any more", module)
		}
		for _, m := range found {
			m.module = module
			if !slices.ContainsFunc(manifests, func(other manifest) bool { return reflect.DeepEqual(m.object, other.object) }) {
				manifests = append(manifests, m)
			}
		}
	}
	return manifests, nil
}

// moduleFolders returns where the modules are, by their paths.
func moduleFolders(ctx context.Context) (map[string]string, error) {
	out, err := gotool.Output(ctx, "realcrds/modules", append([]string{"mod", "download", "-json"}, shippers...)...)
	if err != nil {
		return nil, err
	}
	folders := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var module struct{ Path, Dir string }
		if err := decoder.Decode(&module); errors.Is(err, io.EOF) {
			return folders, nil
		} else if err != nil {
			return nil, err
		}
		folders[module.Path] = module.Dir
	}
}

// inFolder returns the definitions in the YAML and JSON files of a folder.
func inFolder(folder fs.FS) ([]manifest, error) {
	var manifests []manifest
	err := fs.WalkDir(folder, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if leftOut(entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(file)) {
			return nil
		}
		content, err := fs.ReadFile(folder, file)
		if err != nil || !bytes.Contains(content, []byte("CustomResourceDefinition")) {
			return err
		}
		objects, err := definitions(content)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, object := range objects {
			manifests = append(manifests, manifest{file: file, object: object})
		}
		return nil
	})
	return manifests, err
}

// leftOut reports whether nothing in a folder of this name is meant to be installed:
// test data, the templates of Helm charts, and what a leading dot or underscore hides
// from the go command too.
func leftOut(folder string) bool {
	switch folder {
	case ".":
		return false
	case "test", "tests", "testdata", "templates":
		return true
	}
	return strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_")
}

// definitions returns the complete definitions in a file. One without versions is a
// patch to another, for kustomize.
func definitions(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		var document any
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		content, ok := document.(map[string]any)
		if !ok {
			continue // a list of patch operations, or nothing
		}
		object := &unstructured.Unstructured{Object: content}
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if _, complete, _ := unstructured.NestedFieldNoCopy(content, "spec", "versions"); complete {
			objects = append(objects, object)
		}
	}
}
