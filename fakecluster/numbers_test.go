package fakecluster_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// withNumbers are objects with a number that patches replace. A patch has NUMBER in its place.
var withNumbers = map[string]struct {
	resource    schema.GroupVersionResource
	object      string
	subresource string
	patch       string
	field       string // as the errors of encoding/json name it
	bits        string // the type of the field, int32 if empty
}{
	"a Deployment":               {deployments, deploymentText, "", `{"spec":{"replicas":NUMBER}}`, "DeploymentSpec.spec.replicas", ""},
	"the Scale of a Deployment":  {deployments, deploymentText, "scale", `{"spec":{"replicas":NUMBER}}`, "ScaleSpec.spec.replicas", ""},
	"the status of a Deployment": {deployments, deploymentText, "status", `{"status":{"readyReplicas":NUMBER}}`, "DeploymentStatus.status.readyReplicas", ""},
	"metadata":                   {deployments, deploymentText, "", `{"metadata":{"generation":NUMBER}}`, "ObjectMeta.metadata.generation", "int64"},
	"a Service": {schema.GroupVersionResource{Version: "v1", Resource: "services"},
		`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}`, "", `{"spec":{"ports":[{"port":NUMBER}]}}`, "ServicePort.spec.ports.port", ""},
	"an int or string": {schema.GroupVersionResource{Version: "v1", Resource: "services"},
		`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}`, "", `{"spec":{"ports":[{"port":80,"targetPort":NUMBER}]}}`, "ServicePort.spec.ports.targetPort", ""},
	"a CronJob": {schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"},
		`{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}`,
		"", `{"spec":{"successfulJobsHistoryLimit":NUMBER}}`, "CronJobSpec.spec.successfulJobsHistoryLimit", ""},
	"a PodDisruptionBudget": {schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
		`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {minAvailable: 1}}`, "", `{"spec":{"minAvailable":NUMBER}}`, "PodDisruptionBudgetSpec.spec.minAvailable", ""},
	"an Event": {schema.GroupVersionResource{Version: "v1", Resource: "events"},
		`{apiVersion: v1, kind: Event, metadata: {name: a}, involvedObject: {namespace: default}, type: Normal}`, "", `{"count":NUMBER}`, "Event.count", ""},
	"a Lease": {schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
		`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a}, spec: {leaseDurationSeconds: 3}}`, "", `{"spec":{"leaseTransitions":NUMBER}}`, "LeaseSpec.spec.leaseTransitions", ""},
}

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

const deploymentText = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`

// createNumbered creates an object, given as YAML, in a cluster of its own.
func createNumbered(t *testing.T, resource schema.GroupVersionResource, text string) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(fakecluster.Start(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	objects := client.Resource(resource).Namespace("default")
	if _, err := objects.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestAMergePatchRefusesNumbersThatDoNotFit(t *testing.T) {
	for name, c := range withNumbers {
		t.Run(name, func(t *testing.T) {
			objects := createNumbered(t, c.resource, c.object)
			numbers := []string{"9223372036854775808", "1e3", "2.0", "-0.0"}
			if c.bits == "" {
				c.bits = "int32"
				numbers = append(numbers, "4294967298", "3000000000", "-2147483649")
			}
			for _, number := range numbers {
				patch := strings.ReplaceAll(c.patch, "NUMBER", number)
				_, err := objects.Patch(t.Context(), "a", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, strings.Fields(c.subresource)...)
				want := `": json: cannot unmarshal number ` + number + ` into Go struct field ` + c.field + ` of type ` + c.bits
				if err == nil || !strings.HasPrefix(err.Error(), ` "" is invalid: patch: Invalid value: "{`) || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("%s: %v, want …%s", patch, err, want)
				}
			}
			patch := strings.ReplaceAll(c.patch, "NUMBER", "1e400")
			_, err := objects.Patch(t.Context(), "a", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, strings.Fields(c.subresource)...)
			if want := "error decoding patch: json: cannot unmarshal number 1e400 into Go value of type float64"; err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", patch, err, want)
			}
		})
	}
}

// A real server reads what a strategic merge patch or an apply makes with other code than a body. That code
// takes the low bits of a number.
func TestAStrategicMergePatchAndAnApplyTakeTheLowBitsOfANumber(t *testing.T) {
	objects := createNumbered(t, deployments, deploymentText)
	for number, want := range map[string]int64{"4294967298": 2, "-2147483649": 2147483647, "9223372036854775808": 0, "1e3": 1000, "2.0": 2, "-0.0": 0} {
		for _, kind := range []types.PatchType{types.StrategicMergePatchType, types.ApplyPatchType} {
			force := kind == types.ApplyPatchType
			options := metav1.PatchOptions{FieldManager: "m"}
			if force {
				options.Force = &force
			}
			obj, err := objects.Patch(t.Context(), "a", kind, []byte(`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":`+number+`}}`), options)
			if err != nil {
				t.Fatalf("%s by %s: %v", number, kind, err)
			}
			if got, _, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas"); got != want {
				t.Errorf("%s by %s: %d replicas, want %d", number, kind, got, want)
			}
		}
	}
}

func TestAQuantityMayBeAnyNumber(t *testing.T) {
	objects := createNumbered(t, schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"},
		`{apiVersion: v1, kind: ResourceQuota, metadata: {name: a}, spec: {hard: {pods: 1}}}`)
	for number, want := range map[string]string{"4294967298": "4294967298", "9223372036854775808": "9223372036854775808", "1e3": "1e3", "2.0": "2", "-0.0": "0"} {
		obj, err := objects.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"hard":{"pods":`+number+`}}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatalf("%s: %v", number, err)
		}
		if got, _, _ := unstructured.NestedString(obj.Object, "spec", "hard", "pods"); got != want {
			t.Errorf("%s: %s, want %s", number, got, want)
		}
	}
}

// A default of 2.0 is read from the store as 2, so that it does not differ from what a patch leaves as it is.
func TestAPatchOfALabelDoesNotRaiseTheGenerationOfADefinition(t *testing.T) {
	client, err := dynamic.NewForConfig(fakecluster.Start(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {p: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}]
`), &u.Object); err != nil {
		t.Fatal(err)
	}
	if _, err := definitions.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind       types.PatchType
		patch      string
		generation int64
	}{
		{types.JSONPatchType, `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/p/default","value":{"a":2.0,"b":-0.0,"c":1e3,"d":9223372036854775808}}]`, 2},
		{types.MergePatchType, `{"metadata":{"labels":{"a":"1"}}}`, 2},
		{types.StrategicMergePatchType, `{"metadata":{"labels":{"a":"2"}}}`, 2},
		{types.JSONPatchType, `[{"op":"add","path":"/metadata/labels/a","value":"3"}]`, 2},
		{types.MergePatchType, `{}`, 2},
		{types.MergePatchType, `{"spec":{"names":{"shortNames":["t"]}}}`, 3},
	} {
		obj, err := definitions.Patch(t.Context(), "things.example.com", c.kind, []byte(c.patch), metav1.PatchOptions{})
		if err != nil {
			t.Fatalf("%s: %v", c.patch, err)
		}
		if got := obj.GetGeneration(); got != c.generation {
			t.Errorf("%s: generation %d, want %d", c.patch, got, c.generation)
		}
	}
}
