package fakecluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/internal/redact"
)

// manifest is one object of a file.
type manifest struct {
	metav1.PartialObjectMetadata
	document int    // its number in the file, from 1
	text     []byte // as JSON
}

// isObject reports whether the document is an object: it has an apiVersion or a kind.
func (m manifest) isObject() bool { return m.APIVersion != "" || m.Kind != "" }

// readFiles keeps the manifests of files by the content of the file, up to 32 MiB of text.
// Reading YAML takes longer than installing what it says, and every test of a suite starts
// with the same files.
var readFiles = cache.New[cache.ID, []manifest](32 << 20)

// readManifests reads the objects in a file of YAML documents or JSON.
func readManifests(file []byte) ([]manifest, error) {
	return readFiles.Make(cache.NewID(string(file)), len(file), func() ([]manifest, error) { return parseManifests(file) })
}

func parseManifests(file []byte) ([]manifest, error) {
	var read []manifest
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(file)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return read, nil
		}
		if err != nil {
			return nil, err
		}
		m := manifest{document: n}
		if m.text, err = yaml.YAMLToJSON(document); err == nil && bytes.HasPrefix(m.text, []byte("{")) {
			err = json.Unmarshal(m.text, &m.PartialObjectMetadata)
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, redact.Request{Body: document}.Error(err))
		}
		if string(m.text) != "null" { // the document has comments only
			read = append(read, m)
		}
	}
}
