package generate

import "github.com/fakecluster/fakecluster/conformance/random/play"

// definition is what dry runs of definitions change.
const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"randoms.random.example.com"},"spec":{"group":"random.example.com","scope":"Namespaced",
"names":{"plural":"randoms","singular":"random","kind":"Random","listKind":"RandomList"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"default":{"a":2.0},"properties":{"n":{"type":"integer","default":1}}}}}}}]}}`

// established is what a definition says when its objects can be written.
const established = `"reason":"InitialNamesAccepted"`

// Setup returns the steps that come before all histories.
func Setup() []play.Step {
	steps := []play.Step{
		{Method: "POST", Path: "/api/v1/namespaces", Body: `{"metadata":{"name":"` + Namespace + `"}}`, Hidden: true},
		{Method: "POST", Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Body: definition, Hidden: true},
		{Method: "GET", Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/randoms.random.example.com", Until: 200, Holds: established, Hidden: true},
		{Method: "POST", Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Body: admittedDefinition(), Hidden: true},
		{Method: "GET", Path: "/apis/" + customGroup + "/v1/admitteds", Until: 200, Hidden: true},
		{Method: "GET", Path: "/apis/" + customGroup + "/v2/admitteds", Until: 200, Hidden: true},
	}
	return append(append(steps, keepParams()...), defineFixed()...)
}

// keepParams returns the steps that make policies with ConfigMaps as parameters, which match no request and stay. When the last policy with a
// kind of parameters is deleted, a real server stops an informer of its own that it can never start again: policies that come later see
// the ConfigMaps of that time.
func keepParams() []play.Step {
	const group = "/apis/admissionregistration.k8s.io/v1/"
	spec := `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"matchConstraints":{"resourceRules":[{"apiGroups":["nothing.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nothings"]}]}`
	ref := `"policyName":"keep-params","paramRef":{"name":"missing","namespace":"` + Namespace + `","parameterNotFoundAction":"Allow"}`
	post := func(resource, spec string) play.Step {
		return play.Step{Method: "POST", Path: group + resource, Body: `{"metadata":{"name":"keep-params"},"spec":{` + spec + `}}`, Hidden: true}
	}
	return []play.Step{
		post("validatingadmissionpolicies", spec+`,"validations":[{"expression":"true"}]`),
		post("validatingadmissionpolicybindings", ref+`,"validationActions":["Deny"]`),
		post("mutatingadmissionpolicies", spec+`,"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[]"}}]`),
		post("mutatingadmissionpolicybindings", ref),
	}
}
