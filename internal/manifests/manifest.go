package manifests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/internal/redact"
)

// Manifest is one object of a file.
type Manifest struct {
	metav1.PartialObjectMetadata
	Document int    // its number in the file, from 1
	Text     []byte // as JSON
}

// isObject reports whether the document is an object: it has an apiVersion or a kind.
func (m Manifest) isObject() bool { return m.APIVersion != "" || m.Kind != "" }

// readFiles keeps the manifests of files by the content of the file, up to 32 MiB of text. Reading YAML takes longer
// than installing the objects, and every test of a suite starts with the same files.
var readFiles = cache.New[cache.ID, []Manifest](32 << 20)

// Read reads the documents in a file of YAML or JSON. The result is shared: callers must not alter it.
func Read(path string) ([]Manifest, error) {
	content, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	read, err := readFiles.Make(cache.NewID(string(content)), len(content), func() ([]Manifest, error) { return parse(content) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return read, nil
}

func parse(file []byte) ([]Manifest, error) {
	var read []Manifest
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(file)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return read, nil
		}
		if err != nil {
			return nil, err
		}
		m := Manifest{Document: n}
		if m.Text, err = yaml.YAMLToJSON(document); err == nil && bytes.HasPrefix(m.Text, []byte("{")) {
			err = json.Unmarshal(m.Text, &m.PartialObjectMetadata)
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, redact.Request{Body: document}.Error(err))
		}
		if string(m.Text) != "null" { // the document has comments only
			read = append(read, m)
		}
	}
}

// Unfold returns the items of a List, or the manifest itself if it is none.
func (m Manifest) Unfold() ([]Manifest, error) {
	if m.GroupVersionKind() != (schema.GroupVersionKind{Version: "v1", Kind: "List"}) {
		return []Manifest{m}, nil
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(m.Text, &list); err != nil {
		return nil, err
	}
	var read []Manifest
	for _, item := range list.Items {
		one := Manifest{Document: m.Document, Text: item}
		if err := json.Unmarshal(item, &one.PartialObjectMetadata); err != nil {
			return nil, err
		}
		each, err := one.Unfold()
		if err != nil {
			return nil, err
		}
		read = append(read, each...)
	}
	return read, nil
}

// Each visits the objects in a manifest file, or in the files of a folder. It skips documents of a folder that have
// neither an apiVersion nor a kind. Errors begin with the option that names the path, or with the file.
func Each(option, root string, visit func(Manifest) error) error {
	paths, err := Find(root)
	if err != nil {
		return fmt.Errorf("%s: %w", option, err)
	}
	for _, path := range paths {
		read, err := Read(path)
		if err != nil {
			return err
		}
		for _, m := range read {
			switch {
			case m.isObject():
				err = visit(m)
			case path != root: // a folder also has files for other programs, such as patches of kustomize
			case !bytes.HasPrefix(m.Text, []byte("{")):
				err = errors.New("not an object: it is not a mapping")
			default:
				err = errors.New("not an object: it needs apiVersion and kind")
			}
			if err != nil {
				return fmt.Errorf("%s: document %d: %w", path, m.Document, err)
			}
		}
	}
	if len(paths) == 0 {
		return fmt.Errorf("%s %s: there is no manifest in it", option, root)
	}
	return nil
}
