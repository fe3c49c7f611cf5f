package consistency

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// manifest defines the objects that the writers change, the samples. They have two
// versions, a field to select by, columns whose cells do not depend on the time, and a
// status subresource.
const manifest = `
metadata: {name: samples.reads.example.com}
spec:
  group: reads.example.com
  scope: Namespaced
  names: {plural: samples, singular: sample, kind: Sample, listKind: SampleList}
  versions:
  - &v1
    name: v1
    served: true
    storage: true
    subresources: {status: {}}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns:
    - {name: Color, type: string, jsonPath: .spec.color}
    - {name: Count, type: integer, jsonPath: .spec.count}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {color: {type: string}, count: {type: integer}}}
          status: {type: object, properties: {seen: {type: integer}}}
  - <<: *v1
    name: v2
    storage: false
`

// The paths of the samples: of their group, to which a version is appended, and of their
// storage version.
const (
	GroupPath = "/apis/reads.example.com/"
	Path      = GroupPath + "v1"
)

// Resource is that of the samples in their storage version.
var Resource = schema.GroupVersionResource{Group: "reads.example.com", Version: "v1", Resource: "samples"}

// Namespaces and Names are the places of samples, in the order of their keys.
var (
	Namespaces = []string{"default", "kube-public"}
	Names      = []string{"o-0", "o-1", "o-2", "o-3", "o-4", "o-5", "o-6", "o-7"}
)

// Definition returns the definition of the samples. The test installs it.
func Definition() *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal([]byte(manifest), crd); err != nil {
		panic(err) // the manifest above is wrong
	}
	return crd
}

// Meta is the part of a sample that the model looks at.
type Meta struct {
	Metadata struct {
		Name, Namespace, ResourceVersion, DeletionTimestamp string
		Labels, Annotations                                 map[string]string
		Finalizers                                          []string
	}
	Spec struct{ Color string }
}

// MetaOf reads the Meta of a sample in JSON.
func MetaOf(text string) (m Meta, err error) {
	return m, json.Unmarshal([]byte(text), &m)
}

// key returns the namespace and the name of a sample.
func (m Meta) key() string { return m.Metadata.Namespace + "/" + m.Metadata.Name }

// lastWritten reports whether [Writers.Run] has written the object for the last time.
func (m Meta) lastWritten() bool { return m.Metadata.Annotations["last"] != "" }

// lastKey returns the key of the sample that Writers.Run writes last.
func lastKey() string { return Namespaces[len(Namespaces)-1] + "/" + Names[len(Names)-1] }

// JSON returns the canonical JSON of a value: object keys are sorted.
func JSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value that the test made is not JSON
	}
	return string(text)
}
