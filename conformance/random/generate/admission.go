package generate

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// admittedKinds are the kinds of objects that webhooks and policies see: some have several versions, and subresources.
var admittedKinds = []string{"configmaps", "pods", "deployments", "horizontalpodautoscalers", "services", "jobs"}

const registrations = "/apis/admissionregistration.k8s.io/v1/"

// Admission returns the family of histories in which webhooks and policies change and refuse what is written, in ways that are often wrong.
// What a webhook answers stands in an annotation of the object.
func Admission(kinds []*Kind) func(h *play.History, number int) {
	var admitted []*Kind
	for _, k := range kinds {
		if slices.Contains(admittedKinds, k.Resource) && k.Stub != nil && k.Group != "extensions" {
			admitted = append(admitted, k)
		}
	}
	return func(h *play.History, _ int) {
		a := &admission{life{History: h, Source: Source{h.Rand}, namespace: h.ID, name: h.ID}, admitted}
		a.install()
		for range 3 {
			a.kind = pick(a.Source, admitted...)
			a.collection = a.kind.collection(a.namespace)
			a.object()
		}
		a.uninstall()
	}
}

// admission is a namespace whose writes go through two webhooks and two policies.
type admission struct {
	life
	kinds []*Kind
}

// rules returns the rules of a webhook or a policy: mostly for one version of a kind, so that others reach it as equivalent ones.
func (a *admission) rules() []any {
	groups, versions, resources := []any{"*"}, []any{"*"}, []any{"*"}
	if a.chance(70) {
		k := pick(a.Source, a.kinds...)
		groups, versions, resources = []any{k.Group}, []any{k.Version}, []any{k.Resource, k.Resource + "/*"}
	}
	// The probe is a ConfigMap.
	return []any{
		map[string]any{"apiGroups": groups, "apiVersions": versions, "resources": resources, "operations": []any{pick(a.Source, "*", "CREATE", "UPDATE", "DELETE")}, "scope": "Namespaced"},
		map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"}, "operations": []any{"*"}},
	}
}

func (a *admission) here() map[string]any {
	return map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": a.namespace}}
}

// conditions are the match conditions of a webhook or a policy.
func (a *admission) conditions() []any {
	if a.chance(70) {
		return []any{}
	}
	return []any{map[string]any{"name": "c", "expression": pick(a.Source, "request.kind.version != 'v2'", "!has(object.metadata.labels) || !('skip' in object.metadata.labels)", "object.metadata.name != 'x'", "request.operation != 'UPDATE'", "object.spec.replicas > 1")}}
}

// install makes the webhooks and policies, and waits until they act.
func (a *admission) install() {
	a.Do(play.Step{Method: "POST", Path: "/api/v1/namespaces", Body: `{"metadata":{"name":"` + a.ID + `"}}`, Hidden: true})
	for _, kind := range []string{"Mutating", "Validating"} {
		hook := map[string]any{"name": lower(kind) + ".example.com", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "namespaceSelector": a.here(), "rules": a.rules(), "matchConditions": a.conditions(),
			"failurePolicy": pick(a.Source, "Fail", "Fail", "Ignore"), "matchPolicy": pick(a.Source, "Exact", "Equivalent"),
			"clientConfig": map[string]any{"url": "${webhook}/" + a.ID + "/" + lower(kind), "caBundle": "${authority}"}}
		if kind == "Mutating" {
			hook["reinvocationPolicy"] = pick(a.Source, "Never", "IfNeeded")
		}
		a.register(lower(kind)+"webhookconfigurations", kind+"WebhookConfiguration", map[string]any{"webhooks": []any{hook}})
	}
	constraints := func() map[string]any {
		return map[string]any{"namespaceSelector": a.here(), "resourceRules": without(a.rules(), "DELETE"), "matchPolicy": pick(a.Source, "Exact", "Equivalent")}
	}
	a.register("validatingadmissionpolicies", "ValidatingAdmissionPolicy", map[string]any{"spec": map[string]any{"failurePolicy": pick(a.Source, "Fail", "Ignore"), "matchConstraints": constraints(), "matchConditions": a.conditions(),
		"validations": []any{a.validation(), a.validation(), map[string]any{"expression": "object == null || !has(object.metadata.annotations) || !('probe' in object.metadata.annotations)", "message": "the policy acts"}}}})
	a.register("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", map[string]any{"spec": map[string]any{"policyName": a.ID, "validationActions": pick(a.Source, []any{"Deny"}, []any{"Deny"}, []any{"Deny", "Audit"})}})
	a.register("mutatingadmissionpolicies", "MutatingAdmissionPolicy", map[string]any{"spec": map[string]any{"failurePolicy": pick(a.Source, "Fail", "Ignore"), "reinvocationPolicy": pick(a.Source, "Never", "IfNeeded"), "matchConstraints": constraints(), "matchConditions": a.conditions(),
		"mutations": []any{a.mutation(), map[string]any{"patchType": "ApplyConfiguration", "applyConfiguration": map[string]any{"expression": "Object{metadata: Object.metadata{labels: has(object.metadata.annotations) && 'probe' in object.metadata.annotations ? {'acts': 'yes'} : {}}}"}}}}})
	a.register("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", map[string]any{"spec": map[string]any{"policyName": a.ID}})
	a.probe()
}

// register makes a configuration.
func (a *admission) register(resource, kind string, body map[string]any) {
	body["apiVersion"], body["kind"], body["metadata"] = "admissionregistration.k8s.io/v1", kind, map[string]any{"name": a.ID}
	text, err := json.Marshal(body)
	if err != nil {
		return
	}
	a.Do(play.Step{Method: "POST", Path: registrations + resource, Body: string(text), Hidden: true})
}

// probe waits until webhooks and policies act, and forgets the reviews of that.
func (a *admission) probe() {
	path := "/api/v1/namespaces/" + a.namespace + "/configmaps"
	for _, name := range []string{"mutating", "validating"} {
		body := fmt.Sprintf(`{"metadata":{"name":"probe","annotations":{%q:"{\"status\":{\"message\":\"%s acts\"}}"}}}`, play.AnswerPrefix+name, name)
		a.Do(play.Step{Method: "POST", Path: path + "?dryRun=All", Body: body, Until: 400, Holds: name + " acts", Hidden: true})
	}
	probe := `{"metadata":{"name":"probe","annotations":{"probe":"yes"}}}`
	a.Do(play.Step{Method: "POST", Path: path + "?dryRun=All", Body: probe, Until: 422, Holds: "the policy acts", Hidden: true})
	a.Do(play.Step{Method: play.Reviews, Path: a.ID, Hidden: true})
}

// validation returns a rule of a policy.
func (a *admission) validation() map[string]any {
	v := map[string]any{"expression": pick(a.Source, "true", "!has(object.metadata.labels) || !('no' in object.metadata.labels)", "object.metadata.name != 'x'", "oldObject == null || object.metadata.uid == oldObject.metadata.uid", "request.resource.resource != 'pods' || object.spec.containers.size() < 3", "object.spec.replicas < 5",
		"request.kind.kind == request.requestKind.kind", "request.operation != 'DELETE'", "authorizer.group('').resource('pods').check('get').allowed()", "namespaceObject.metadata.name != ''")}
	if a.chance(50) {
		v[pick(a.Source, "message", "messageExpression", "reason")] = "Invalid"
	}
	if text, ok := v["messageExpression"]; ok && text != "" {
		v["messageExpression"] = pick(a.Source, "'of ' + request.kind.version", "object.metadata.name", "string(size(object.metadata.labels))", "request.name")
	}
	return v
}

// mutation returns a mutation of a policy.
func (a *admission) mutation() map[string]any {
	if a.chance(50) {
		return map[string]any{"patchType": "ApplyConfiguration", "applyConfiguration": map[string]any{"expression": pick(a.Source,
			"Object{metadata: Object.metadata{labels: {'from': request.kind.version}}}", "Object{metadata: Object.metadata{annotations: {'a': object.metadata.name}}}", "Object{metadata: Object.metadata{name: 'other'}}", "Object{}", "Object{spec: Object.spec{replicas: 3}}", "Object{metadata: Object.metadata{finalizers: ['example.com/p']}}")}}
	}
	return map[string]any{"patchType": "JSONPatch", "jsonPatch": map[string]any{"expression": pick(a.Source,
		"[JSONPatch{op: 'add', path: '/metadata/labels', value: {'p': 'q'}}]", "[JSONPatch{op: 'replace', path: '/metadata/name', value: 'other'}]", "[JSONPatch{op: 'remove', path: '/metadata/labels'}]", "[JSONPatch{op: 'test', path: '/metadata/name', value: 'x'}, JSONPatch{op: 'add', path: '/spec/replicas', value: 2}]", "[]",
		"[JSONPatch{op: 'add', path: '/metadata/annotations/x~1y', value: 'z'}]", "[JSONPatch{op: 'replace', path: '/apiVersion', value: 'v9'}]", "[JSONPatch{op: 'add', path: '/nope', value: 1}]")}}
}

// object plays the life of an object, with answers of webhooks in its annotations, and compares what they were sent.
func (a *admission) object() {
	stub := *a.kind
	stub.Stub = a.withAnswers(a.kind.Stub)
	a.kind = &stub
	a.create()
	a.reviewed()
	for range 4 + a.IntN(4) {
		if a.Over() {
			return
		}
		if a.chance(40) && a.current != nil {
			annotations, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": a.answers()}})
			if err == nil {
				a.play(play.Step{Method: "PATCH", Path: a.path(), Type: play.MergePatch, Body: string(annotations)})
			}
		} else {
			a.step()
		}
		a.reviewed()
	}
	a.clear()
}

func (a *admission) reviewed() { a.Do(play.Step{Method: play.Reviews, Path: a.ID}) }

// clear deletes the object, whatever webhooks say of it.
func (a *admission) clear() {
	none := `{"metadata":{"finalizers":null,"annotations":{"random.example.com/mutating":null,"random.example.com/validating":null}}}`
	a.Clean(play.Step{Method: "PATCH", Path: a.path(), Type: play.MergePatch, Body: none})
	a.Clean(play.Step{Method: "DELETE", Path: a.path() + "?gracePeriodSeconds=0&propagationPolicy=Background"})
	a.Do(play.Step{Method: play.Reviews, Path: a.ID, Hidden: true})
}

func (a *admission) withAnswers(object map[string]any) map[string]any {
	with, _ := set(object, change{path: []string{"metadata", "annotations"}, value: a.answers()}).(map[string]any)
	return with
}

// answers returns annotations that say what webhooks answer.
func (a *admission) answers() map[string]any {
	annotations := map[string]any{}
	for _, name := range []string{"mutating", "validating"} {
		if a.chance(30) {
			continue
		}
		text, err := json.Marshal(a.answer(name))
		if err == nil {
			annotations[play.AnswerPrefix+name] = string(text)
		}
	}
	return annotations
}

// answer returns what a webhook answers: it mostly allows, mutates in odd ways, and now and then answers nonsense.
func (a *admission) answer(name string) play.Answer {
	answer := play.Answer{Allowed: a.chance(85)}
	switch n := a.IntN(20); {
	case n < 9 && name == "mutating" || n == 9:
		answer.Patch = a.mutations()
	case n == 10:
		answer.Status = pick[any](a.Source, map[string]any{"message": "no", "code": 418}, map[string]any{"reason": "NotFound", "code": 404}, map[string]any{"code": 200}, map[string]any{"code": 999}, map[string]any{"status": "Success", "message": "m", "details": map[string]any{"name": "d"}}, map[string]any{"code": 0, "reason": "Expired"})
	case n == 11:
		answer.Warnings = pick(a.Source, []string{"w"}, []string{"w", "w"}, []string{""}, []string{"a\nb"}, []string{string(make([]byte, 3)), "é"})
	case n == 12:
		answer.AuditAnnotations = pick(a.Source, map[string]string{"a": "b"}, map[string]string{"a/b": "c"}, map[string]string{"": ""})
	case n == 13:
		answer.UID = "another"
	case n == 14:
		answer.Code, answer.Body = pick(a.Source, 200, 200, 500, 404, 302), pick(a.Source, "", "{}", "null", "x", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v2","response":{"allowed":true}}`, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"allowed":true}}`)
	}
	if answer.Patch != nil && a.chance(6) {
		answer.PatchType = pick(a.Source, "MergePatch", "Nope")
	}
	return answer
}

// mutations returns a JSON patch of a webhook: of metadata, mostly, and of the object.
func (a *admission) mutations() any {
	if a.chance(8) {
		return pick[any](a.Source, []any{}, "x", map[string]any{}, []any{map[string]any{"op": "nope"}}, []any{nil})
	}
	var operations []any
	for range 1 + a.IntN(2) {
		c := a.change(a.kind.Schema)
		if a.chance(60) {
			c = a.metadataChange()
		}
		if a.chance(20) {
			c = pick(a.Source, change{path: []string{"kind"}, value: "Other"}, change{path: []string{"apiVersion"}, value: "v9"}, change{path: []string{"metadata", "name"}, value: "other"}, change{path: []string{"metadata", "namespace"}, value: "other"}, change{path: []string{"metadata", "deletionTimestamp"}, value: "2001-01-01T00:00:00Z"}, change{path: []string{"metadata", "uid"}, value: "u"}, change{path: []string{"metadata", "resourceVersion"}, value: "1"})
		}
		operations = append(operations, map[string]any{"op": pick(a.Source, "add", "add", "add", "replace", "remove"), "path": c.pointer(), "value": c.value})
	}
	return operations
}

// uninstall takes everything away.
func (a *admission) uninstall() {
	for _, resource := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicybindings", "validatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingadmissionpolicies"} {
		a.Clean(play.Step{Method: "DELETE", Path: registrations + resource + "/" + a.ID})
	}
	a.Clean(play.Step{Method: "DELETE", Path: "/api/v1/namespaces/" + a.ID})
}

func lower(kind string) string { return string(kind[0]+'a'-'A') + kind[1:] }

// without returns rules of a policy, which knows no DELETE of a mutation.
func without(rules []any, operation string) []any {
	for _, r := range rules {
		rule := r.(map[string]any)
		if slices.Contains(rule["operations"].([]any), any(operation)) || slices.Contains(rule["operations"].([]any), any("*")) {
			rule["operations"] = []any{"CREATE", "UPDATE"}
		}
	}
	return rules
}
