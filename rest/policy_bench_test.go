package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

const (
	policiesPath = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
	bindingsPath = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
)

// addPolicy adds a policy and a binding of its name.
func (c *cluster) addPolicy(name, resources, spec string) {
	c.t.Helper()
	c.mustServe(http.StatusCreated, "POST", policiesPath, fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
		"metadata":{"name":%q},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["CREATE","UPDATE"],"resources":[%q]}]},
		%s}}`, name, resources, spec))
	c.mustServe(http.StatusCreated, "POST", bindingsPath, fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding",
		"metadata":{"name":%q},"spec":{"policyName":%q,"validationActions":["Deny"]}}`, name, name))
}

func (c *cluster) mustServe(code int, method, path, body string) answer {
	c.t.Helper()
	a := c.serve(method, path, jsonBody, []byte(body))
	if a.code != code {
		c.t.Fatalf("%s %s: %d: %s", method, path, a.code, a.body)
	}
	return a
}

// What policies add to a write, measured in turns with a cluster that has none. Who
// comes first changes, because the second finds the text of the request warm.
func BenchmarkPolicies(b *testing.B) {
	for _, bb := range []struct {
		name string
		add  func(c *cluster)
	}{
		{"none", func(*cluster) {}},
		{"50 that do not match", func(c *cluster) {
			for i := range 50 {
				c.addPolicy(fmt.Sprintf("p%d", i), fmt.Sprintf("others%d", i), `"validations":[{"expression":"object.spec.replicas > 1"}]`)
			}
		}},
		{"50 that do not match for the namespace", func(c *cluster) {
			for i := range 50 {
				c.mustServe(http.StatusCreated, "POST", policiesPath, fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
		"metadata":{"name":"p%d"},"spec":{"matchConstraints":{"namespaceSelector":{"matchLabels":{"env":"prod%d"}},"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["CREATE","UPDATE"],"resources":["*"]}]},
		"validations":[{"expression":"true"}]}}`, i, i))
				c.mustServe(http.StatusCreated, "POST", bindingsPath, fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding",
		"metadata":{"name":"p%d"},"spec":{"policyName":"p%d","validationActions":["Deny"]}}`, i, i))
			}
		}},
		{"three validations", func(c *cluster) {
			c.addPolicy("p", "things", `"validations":[{"expression":"object.spec.replicas > 0","message":"m"},
				{"expression":"object.spec.replicas < 1000000000"},{"expression":"object.metadata.name.startsWith('t')"}]`)
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			with, without := startInProcess(b), startInProcess(b)
			for _, c := range []*cluster{with, without} {
				c.mustServe(http.StatusCreated, "POST", definitionsPath, scaled)
				c.mustServe(http.StatusCreated, "POST", things, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"},"spec":{"replicas":1}}`)
			}
			bb.add(with)
			body := func(n int) []byte {
				return fmt.Appendf(nil, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t%d"},"spec":{"replicas":%d}}`, n, n%5+1)
			}
			n := 1
			var ours, floor time.Duration
			for b.Loop() {
				n++
				text := body(n)
				create := func(c *cluster, took *time.Duration) {
					begin := time.Now()
					a := c.serve("POST", things, jsonBody, text)
					*took += time.Since(begin)
					if a.code != http.StatusCreated {
						b.Fatal(a.code, a.body)
					}
				}
				if n%2 == 0 {
					create(with, &ours)
					create(without, &floor)
				} else {
					create(without, &floor)
					create(with, &ours)
				}
			}
			b.ReportMetric(float64((ours-floor).Nanoseconds())/float64(b.N), "added-ns/op")
			b.ReportMetric(float64(floor.Nanoseconds())/float64(b.N), "floor-ns/op")
		})
	}
}

// A policy that the process has not compiled before. It is validated, stored, compiled
// and checked before the answer leaves.
func BenchmarkNewPolicy(b *testing.B) {
	c := startInProcess(b)
	c.mustServe(http.StatusCreated, "POST", definitionsPath, scaled)
	n := 0
	for b.Loop() {
		n++
		c.mustServe(http.StatusCreated, "POST", policiesPath, fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
		"metadata":{"name":"p%d"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["things"]}]},
		"variables":[{"name":"v","expression":"object.spec.replicas"}],"validations":[{"expression":"variables.v > %d","messageExpression":"'not ' + string(variables.v)"}]}}`, n, n))
	}
}

// BenchmarkTenPolicies measures a create under ten policies that match it, of the kinds that clusters have:
// plain validations, variables with messages, match conditions, parameters and mutations.
// "write-ns/op" is the median of the whole create, "floor-ns/op" that of a cluster without policies. They
// take turns.
func BenchmarkTenPolicies(b *testing.B) {
	const mutatingPath, mutatingBindingsPath = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"
	specs := []string{
		`"validations":[{"expression":"object.spec.replicas > 0","message":"m"},{"expression":"object.spec.replicas < 1000000000"}]`,
		`"validations":[{"expression":"object.metadata.name.startsWith('t')"}]`,
		`"variables":[{"name":"n","expression":"object.spec.replicas"}],"validations":[{"expression":"variables.n > 0","messageExpression":"'not ' + string(variables.n)"}]`,
		`"matchConditions":[{"name":"create","expression":"request.operation == 'CREATE'"}],"validations":[{"expression":"object.spec.replicas > 0"}]`,
		`"auditAnnotations":[{"key":"n","valueExpression":"string(object.spec.replicas)"}],"validations":[{"expression":"true"}]`,
		`"validations":[{"expression":"!has(object.metadata.annotations) || object.metadata.annotations.all(k, k.size() < 100)"}]`,
		`"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"object.spec.replicas <= int(params.data.max)"}]`,
		`"matchConditions":[{"name":"update","expression":"request.operation == 'UPDATE'"}],"validations":[{"expression":"oldObject.spec.replicas > 0"}]`,
	}
	mutations := []string{
		`"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {'team': 'a'}}}"}}]`,
		`"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a': 'b'}}]"}}]`,
	}
	add := func(c *cluster, resource string) {
		c.mustServe(http.StatusCreated, "POST", "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"limits"},"data":{"max":"1000000000"}}`)
		for i, spec := range specs {
			paramRef := ""
			if i == 6 {
				paramRef = `,"paramRef":{"name":"limits","namespace":"default","parameterNotFoundAction":"Deny"}`
			}
			c.mustServe(http.StatusCreated, "POST", policiesPath, fmt.Sprintf(`{"metadata":{"name":"p%d"},"spec":{"matchConstraints":{
				"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["kube-system"]}]},
				"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["CREATE","UPDATE"],"resources":[%q]}]},%s}}`, i, resource, spec))
			c.mustServe(http.StatusCreated, "POST", bindingsPath, fmt.Sprintf(`{"metadata":{"name":"p%d"},"spec":{"policyName":"p%d","validationActions":["Deny"]%s}}`, i, i, paramRef))
		}
		for i, spec := range mutations {
			c.mustServe(http.StatusCreated, "POST", mutatingPath, fmt.Sprintf(`{"metadata":{"name":"m%d"},"spec":{"reinvocationPolicy":"Never","failurePolicy":"Fail","matchConstraints":{
				"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["CREATE","UPDATE"],"resources":[%q]}]},%s}}`, i, resource, spec))
			c.mustServe(http.StatusCreated, "POST", mutatingBindingsPath, fmt.Sprintf(`{"metadata":{"name":"m%d"},"spec":{"policyName":"m%d"}}`, i, i))
		}
	}
	for _, bb := range []struct{ name, resource, path, object string }{
		{"custom object", "things", things, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t%d"},"spec":{"replicas":1}}`},
		{"Deployment", "deployments", "/apis/apps/v1/namespaces/default/deployments", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"t%d"},"spec":{"replicas":1,
			"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],
			"env":[{"name":"A","value":"b"}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"}}}]}}}}`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			clusters := []*cluster{startInProcess(b), startInProcess(b)}
			for _, c := range clusters {
				c.mustServe(http.StatusCreated, "POST", definitionsPath, scaled)
			}
			add(clusters[0], bb.resource)
			var took [2][]time.Duration
			for n := 0; b.Loop(); n++ {
				text := fmt.Appendf(nil, bb.object, n)
				for turn := range 2 {
					i := (n + turn) % 2
					begin := time.Now()
					a := clusters[i].serve("POST", bb.path, jsonBody, text)
					took[i] = append(took[i], time.Since(begin))
					if a.code != http.StatusCreated {
						b.Fatal(a.code, a.body)
					}
				}
			}
			for i, unit := range []string{"write-ns/op", "floor-ns/op"} {
				slices.Sort(took[i])
				b.ReportMetric(float64(took[i][len(took[i])/2].Nanoseconds()), unit)
			}
		})
	}
}
