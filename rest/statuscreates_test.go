package rest_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// Of all subresources, a real server creates objects by an apply through two: the status of a Service, because any update
// of one may create it, and the status of a ValidatingAdmissionPolicy, whose storage passes on that an apply may create.
func TestAnApplyToAStatusCreatesTheObjectOfTwoKinds(t *testing.T) {
	c := startInProcess(t)
	const none = `,"metadata":{"name":"none"}`
	for _, test := range []struct {
		path, configuration string
		code                int
		message             string
	}{
		{policiesPath + "/none/status", `"apiVersion":"a/b/c","kind":"X"` + none, 400, "invalid object type: /, Kind="},
		{policiesPath + "/none/status", `"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy"` + none, 422, "ValidatingAdmissionPolicy.admissionregistration.k8s.io \"none\" is invalid: ["},
		{policiesPath + "/none/status", `"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy"` + none + `,"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}]},"validations":[{"expression":"true"}]}`, 201, ""},
		{servicesPath + "/none/status", `"apiVersion":"v1","kind":"Service"` + none + `,"spec":{"ports":[{"port":80}]}`, 201, ""},
		{"/apis/apps/v1/namespaces/default/deployments/none/status", `"apiVersion":"a/b/c","kind":"X"` + none, 404, `deployments.apps "none" not found`},
		{"/api/v1/namespaces/default/pods/none/status", `"apiVersion":"v1","kind":"Pod"` + none, 404, `pods "none" not found`},
	} {
		a := c.serve("PATCH", test.path+"?fieldManager=m", header("application/apply-patch+yaml", "application/json"), []byte("{"+test.configuration+"}"))
		var status struct{ Message string }
		if err := json.Unmarshal([]byte(a.body), &status); err != nil {
			t.Fatal(err)
		}
		if a.code != test.code || !strings.HasPrefix(status.Message, test.message) {
			t.Errorf("%s: got %d %q, want %d %q", test.path, a.code, status.Message, test.code, test.message)
		}
	}
}
