package rest_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/meta"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
)

const policyConfigMaps = "/api/v1/namespaces/default/configmaps"

func configMap(name string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q}}`, name)
}

// A fork has the policies of its cluster, and from then on its own.
func TestForksHavePoliciesOfTheirOwn(t *testing.T) {
	c := startInProcess(t)
	c.addPolicy("short", "configmaps", `"validations":[{"expression":"object.metadata.name.size() < 3"}]`)
	f := c.fork(t)
	f.mustServe(http.StatusUnprocessableEntity, "POST", policyConfigMaps, configMap("long"))
	f.mustServe(http.StatusOK, "DELETE", bindingsPath+"/short", "")
	f.mustServe(http.StatusCreated, "POST", policyConfigMaps, configMap("long"))
	f.addPolicy("none", "configmaps", `"validations":[{"expression":"false"}]`)
	f.mustServe(http.StatusUnprocessableEntity, "POST", policyConfigMaps, configMap("a"))
	c.mustServe(http.StatusCreated, "POST", policyConfigMaps, configMap("a"))
	c.mustServe(http.StatusUnprocessableEntity, "POST", policyConfigMaps, configMap("long"))
}

// A policy is in force for every request that begins after its own write has
// returned, while others write, too.
func TestPoliciesAreInForceAtOnce(t *testing.T) {
	c := startInProcess(t)
	var workers sync.WaitGroup
	for i := range 6 {
		workers.Go(func() {
			for j := range 5 {
				name := fmt.Sprintf("p%d-%d", i, j)
				c.addPolicy(name, "configmaps", fmt.Sprintf(`"validations":[{"expression":"!object.metadata.name.startsWith('%s')"}]`, name))
				a := c.serve("POST", policyConfigMaps, jsonBody, []byte(configMap(name)))
				if a.code != http.StatusUnprocessableEntity || !strings.Contains(a.body, "'"+name+"' denied request") {
					t.Errorf("%s: %d %s", name, a.code, a.body)
				}
				if a := c.serve("GET", policiesPath+"/"+name, nil, nil); gjson.Get(a.body, "status.observedGeneration").Int() != 1 {
					t.Errorf("%s: no status: %s", name, a.body)
				}
			}
		})
	}
	workers.Wait()
}

const (
	mutatingPath         = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
	mutatingBindingsPath = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"
)

// A policy is invoked once more when somebody after it has changed the object, if it
// wants to be; and one that does not is not.
func TestPoliciesAreInvokedAgainAfterOthers(t *testing.T) {
	changes := &plugin{mutate: func(w *restadmission.Write) error {
		if w.GetKind().Kind != "ConfigMap" {
			return nil
		}
		copied := w.GetObject().DeepCopyObject()
		metadata, err := meta.Accessor(copied)
		if err != nil || metadata.GetLabels()["other"] != "" {
			return err
		}
		labels := map[string]string{"other": "changed"}
		maps.Copy(labels, metadata.GetLabels())
		metadata.SetLabels(labels)
		w.GetReinvocationContext().SetShouldReinvoke()
		return w.Replace(copied)
	}}
	c := startInProcess(t, withPlugin(changes))
	for name, policy := range map[string]string{"again": "IfNeeded", "once": "Never"} {
		c.mustServe(http.StatusCreated, "POST", mutatingPath, fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicy","metadata":{"name":%q},
			"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]},"reinvocationPolicy":%q,
			"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {'%s': 'other' in object.metadata.?labels.orValue({}) ? 'saw' : 'blind'}}}"}}]}}`, name, policy, name))
		c.mustServe(http.StatusCreated, "POST", mutatingBindingsPath, fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicyBinding","metadata":{"name":%q},"spec":{"policyName":%q}}`, name, name))
	}
	a := c.mustServe(http.StatusCreated, "POST", policyConfigMaps, configMap("a"))
	expect(t, "labels", gjsonGet(a.body, "metadata.labels"), `{"again":"saw","once":"blind","other":"changed"}`)
}

// The kind of the subresource pods/binding is that of a resource as well, so that a policy can merge a Binding.
func TestAPolicyMergesABinding(t *testing.T) {
	c := startInProcess(t)
	c.mustServe(http.StatusCreated, "POST", mutatingPath, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicy","metadata":{"name":"p"},
		"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods/binding"]}]},"reinvocationPolicy":"Never",
		"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{spec: Object.spec{replicas: 3}}"}}]}}`)
	c.mustServe(http.StatusCreated, "POST", mutatingBindingsPath, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicyBinding","metadata":{"name":"b"},"spec":{"policyName":"p"}}`)
	c.mustServe(http.StatusCreated, "POST", "/api/v1/namespaces/default/pods", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	a := c.serve("POST", "/api/v1/namespaces/default/pods/a/binding", jsonBody, []byte(`{"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"kind":"Node","name":"n"}}`))
	expect(t, "code", a.code, http.StatusForbidden)
	expect(t, "message", gjson.Get(a.body, "message").Str, "policy 'p' with binding 'b' denied request: error applying patch: failed to convert patch object to typed object: .spec: field not declared in schema")
}

// A real server looks up a RuntimeClass that its cache does not have by a client, which has no request for such a name.
func TestARuntimeClassIsNotLookedUpByAnImpossibleName(t *testing.T) {
	c := start(t)
	for name, want := range map[string]string{"": "resource name may not be empty", "a/b": `invalid resource name "a/b": [may not contain '/']`, "none": `pods "a" is forbidden: pod rejected: RuntimeClass "none" not found`} {
		a := c.do("POST", "/api/v1/namespaces/default/pods", jsonBody, `{"metadata":{"name":"a"},"spec":{"runtimeClassName":"`+name+`","containers":[{"name":"c","image":"i"}]}}`)
		expect(t, "message for "+name, gjson.Get(a.body, "message").Str, want)
	}
}
