package fakecluster_test

import (
	"fmt"
	"log"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// ratios is a definition with a default, a bound and a CEL rule.
const ratios = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ratios.example.com}
spec:
  group: example.com
  names: {plural: ratios, kind: Ratio}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              least: {type: integer, default: 1, minimum: 0}
              most: {type: integer, default: 10}
            x-kubernetes-validations:
            - {rule: self.least <= self.most, message: least is more than most}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

func manifest(text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		log.Fatal(err)
	}
	return u
}

// What becomes of a manifest with a misspelled field, and with a status?
func ExampleCluster_Explain() {
	c := start(fakecluster.InProcess(), fakecluster.WithObjects(manifest(ratios)))
	defer c.Close()

	e, err := c.Explain(fakecluster.Write{FieldManager: "me", Manifest: `
apiVersion: example.com/v1
kind: Ratio
metadata: {name: a}
spec: {leest: 5, most: 20}
status: {ready: true}
`})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(e)
	fmt.Println("defaulted:", e.Defaulted)
	// Output:
	// create ratios.example.com default/a as kubernetes-admin, manager me (dry run): 201
	//   pruned: spec.leest, which was 5 and is not in the schema
	//   defaulted: spec.least = 1
	//   set by the rules of the kind: status: removed {"ready":true}
	//   CEL rules: 1 passed (cost 5)
	//   spec.least: added 1, managed by me
	//   spec.most: added 20, managed by me
	//   warning: unknown field "spec.leest"
	// defaulted: [{spec.least 1}]
}

// Which rule refuses an object, and what did it cost?
func ExampleCluster_Explain_refusal() {
	c := start(fakecluster.InProcess(), fakecluster.WithObjects(manifest(ratios)))
	defer c.Close()

	e, err := c.Explain(fakecluster.Write{FieldManager: "me", Object: manifest(`{apiVersion: example.com/v1, kind: Ratio, metadata: {name: a}, spec: {least: 12}}`)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Answer.Code, e.Answer.Reason)
	fmt.Println(e.Refused[0].Rule, "at", e.Refused[0].Node, "cost", e.Refused[0].Cost)
	fmt.Print(e)
	// Output:
	// 422 Invalid
	// self.least <= self.most at openAPIV3Schema.properties.spec cost 5
	// create ratios.example.com default/a as kubernetes-admin, manager me (dry run): 422 Invalid: Ratio.example.com "a" is invalid: spec: Invalid value: least is more than most
	//   defaulted: spec.most = 10
	//   refused: spec: Invalid value: least is more than most
	//     rule: self.least <= self.most (cost 5)
	//     schema: openAPIV3Schema.properties.spec
	//   CEL rules: 1 failed (cost 5)
}

// Whose field does an apply want?
func ExampleCluster_Explain_conflict() {
	c := start(fakecluster.InProcess(), fakecluster.WithObjects(manifest(ratios)))
	defer c.Close()

	apply := func(manager string, most int, commit bool) {
		e, err := c.Explain(fakecluster.Write{
			Verb: "apply", FieldManager: manager, Commit: commit,
			Manifest: fmt.Sprintf(`{apiVersion: example.com/v1, kind: Ratio, metadata: {name: a}, spec: {most: %d}}`, most),
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(e)
		for _, conflict := range e.Conflicts {
			fmt.Println(conflict.Manager, "has", conflict.Path)
		}
	}
	apply("autoscaler", 20, true)
	apply("me", 30, false)
	// Output:
	// apply ratios.example.com default/a as kubernetes-admin, manager autoscaler: 201
	//   defaulted: spec.least = 1
	//   CEL rules: 1 passed (cost 5)
	//   spec.least: added 1
	//   spec.most: added 20, managed by autoscaler
	// apply ratios.example.com default/a as kubernetes-admin, manager me (dry run): 409 Conflict: Apply failed with 1 conflict: conflict with "autoscaler": .spec.most
	//   conflict: spec.most belongs to "autoscaler"
	// autoscaler has spec.most
}
