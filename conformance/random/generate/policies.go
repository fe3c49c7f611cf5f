package generate

import "github.com/fakecluster/fakecluster/conformance/random/play"

// probePolicy ends the names of the policies that show whether the others act, because a server obeys all of them at once.
const probePolicy = "-probe"

// policies makes a validating and a mutating policy.
func (a *admission) policies() {
	a.Do(play.Step{Method: "POST", Path: "/api/v1/namespaces/" + a.namespace + "/configmaps", Body: `{"metadata":{"name":"param-a","labels":{"p":"q"}},"data":{"x":"y","n":"3"}}`, Hidden: true})
	a.Do(play.Step{Method: "POST", Path: "/api/v1/namespaces/" + a.namespace + "/configmaps", Body: `{"metadata":{"name":"param-b","labels":{"p":"q"}},"data":{"x":"z"}}`, Hidden: true})
	constraints := func() map[string]any {
		return map[string]any{"namespaceSelector": a.here(), "objectSelector": noProbe(), "resourceRules": without(a.rules(), "DELETE"), "matchPolicy": pick(a.Source, "Exact", "Equivalent")}
	}
	validating := map[string]any{"failurePolicy": pick(a.Source, "Fail", "Fail", "Ignore"), "matchConstraints": constraints(), "matchConditions": a.conditions(), "validations": []any{a.validation(), a.validation()}}
	mutating := map[string]any{"failurePolicy": pick(a.Source, "Fail", "Fail", "Ignore"), "reinvocationPolicy": pick(a.Source, "Never", "IfNeeded"), "matchConstraints": constraints(), "matchConditions": a.conditions(), "mutations": []any{a.mutation()}}
	validatingBinding := map[string]any{"policyName": a.ID, "validationActions": pick(a.Source, []any{"Deny"}, []any{"Deny"}, []any{"Deny", "Audit"}, []any{"Warn"})}
	mutatingBinding := map[string]any{"policyName": a.ID}
	if a.chance(40) {
		validating["auditAnnotations"] = []any{map[string]any{"key": "k", "valueExpression": pick(a.Source, "'v'", "object.metadata.name", "null", "string(object.spec.replicas)")}}
	}
	if a.chance(50) {
		mutating["mutations"] = []any{a.mutation(), a.mutation()}
	}
	for _, spec := range []map[string]any{validating, mutating} {
		if a.chance(40) {
			variable := pick(a.Source, "object.metadata.name", "has(object.spec.replicas) ? object.spec.replicas : 1", "object.metadata.labels", "request.name", "oldObject.metadata.name")
			spec["variables"] = []any{map[string]any{"name": "v", "expression": variable}, map[string]any{"name": "w", "expression": "string(variables.v) + 'w'"}}
			if validations, ok := spec["validations"].([]any); ok {
				spec["validations"] = append(validations, map[string]any{"expression": pick(a.Source, "variables.w != 'w'", "variables.v == variables.v", "size(variables.w) < 9"), "messageExpression": "variables.w"})
			}
		}
	}
	a.parameters(validating, validatingBinding)
	a.parameters(mutating, mutatingBinding)
	a.policy("Validating", a.ID, validating, validatingBinding)
	a.policy("Mutating", a.ID, mutating, mutatingBinding)
	a.probePolicies()
}

// probePolicies makes the policies that show whether the others act.
func (a *admission) probePolicies() {
	constraints := map[string]any{"namespaceSelector": a.here(), "objectSelector": probesOf("policy"), "resourceRules": probeRules()}
	name := a.ID + probePolicy
	a.policy("Validating", name, map[string]any{"matchConstraints": constraints, "validations": []any{map[string]any{"expression": "!('acts' in object.metadata.labels)", "message": "the policies act"}}},
		map[string]any{"policyName": name, "validationActions": []any{"Deny"}})
	a.policy("Mutating", name, map[string]any{"matchConstraints": constraints, "reinvocationPolicy": "Never", "mutations": []any{map[string]any{"patchType": "JSONPatch", "jsonPatch": map[string]any{"expression": "[JSONPatch{op: 'add', path: '/metadata/labels/acts', value: 'yes'}]"}}}},
		map[string]any{"policyName": name})
}

// parameters gives a policy parameters, now and then.
func (a *admission) parameters(spec, binding map[string]any) {
	if !a.chance(30) {
		return
	}
	spec["paramKind"] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}
	ref := map[string]any{"parameterNotFoundAction": pick(a.Source, "Allow", "Deny")}
	switch a.IntN(3) {
	case 0:
		ref["name"] = pick(a.Source, "param-a", "param-b", "missing")
	case 1:
		ref["selector"] = map[string]any{"matchLabels": map[string]any{"p": pick(a.Source, "q", "q", "none")}}
	default:
		ref["selector"] = map[string]any{}
	}
	if a.chance(50) {
		ref["namespace"] = a.namespace
	}
	binding["paramRef"] = ref
	if validations, ok := spec["validations"].([]any); ok {
		spec["validations"] = append(validations, map[string]any{"expression": pick(a.Source, "params.data.x == 'y'", "!has(object.metadata.labels) || params.data.x in object.metadata.labels", "params == null", "int(params.data.n) > 2"), "message": "params"})
	} else if mutations, ok := spec["mutations"].([]any); ok {
		spec["mutations"] = append(mutations, map[string]any{"patchType": "ApplyConfiguration", "applyConfiguration": map[string]any{"expression": "Object{metadata: Object.metadata{annotations: {params.metadata.name: params.data.x}}}"}})
	}
}

// policy makes a policy with a binding.
func (a *admission) policy(kind, name string, spec, binding map[string]any) {
	a.register(lower(kind)+"admissionpolicies", kind+"AdmissionPolicy", name, map[string]any{"spec": spec})
	a.register(lower(kind)+"admissionpolicybindings", kind+"AdmissionPolicyBinding", name, map[string]any{"spec": binding})
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

// mutation returns a mutation of a policy. An object gets a name that no other one gets: the watch cache of a real server has one
// object of a name, under whatever names they are stored.
func (a *admission) mutation() map[string]any {
	if a.chance(50) {
		return map[string]any{"patchType": "ApplyConfiguration", "applyConfiguration": map[string]any{"expression": pick(a.Source,
			"Object{metadata: Object.metadata{labels: {'from': request.kind.version}}}", "Object{metadata: Object.metadata{annotations: {'a': object.metadata.name}}}", "Object{metadata: Object.metadata{name: object.metadata.name + '-other'}}", "Object{}", "Object{spec: Object.spec{replicas: 3}}", "Object{metadata: Object.metadata{finalizers: ['example.com/p']}}")}}
	}
	return map[string]any{"patchType": "JSONPatch", "jsonPatch": map[string]any{"expression": pick(a.Source,
		"[JSONPatch{op: 'add', path: '/metadata/labels', value: {'p': 'q'}}]", "[JSONPatch{op: 'replace', path: '/metadata/name', value: object.metadata.name + '-other'}]", "[JSONPatch{op: 'remove', path: '/metadata/labels'}]", "[JSONPatch{op: 'test', path: '/metadata/name', value: 'x'}, JSONPatch{op: 'add', path: '/spec/replicas', value: 2}]", "[]",
		"[JSONPatch{op: 'add', path: '/metadata/annotations/x~1y', value: 'z'}]", "[JSONPatch{op: 'replace', path: '/apiVersion', value: 'v9'}]", "[JSONPatch{op: 'add', path: '/nope', value: 1}]")}}
}
