package generate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// admittedKinds are the kinds of objects that webhooks and policies see: some have several versions, and subresources.
var admittedKinds = []string{"configmaps", "pods", "deployments", "horizontalpodautoscalers", "services", "jobs", "events"}

const registrations = "/apis/admissionregistration.k8s.io/v1/"

// admittedObjects is how many objects a set of webhooks and policies sees. It is large, because a real server takes a second to obey a policy.
const admittedObjects = 12

// Admission returns the family of histories in which webhooks and policies change and refuse what is written, in ways that are often wrong.
// What a webhook answers stands in an annotation of the object.
func Admission(kinds []*Kind) func(h *play.History, number int) {
	admitted := customKinds()
	for _, k := range kinds {
		if slices.Contains(admittedKinds, k.Resource) && k.Stub != nil && k.Group != "extensions" {
			admitted = append(admitted, k)
		}
	}
	return func(h *play.History, _ int) {
		a := &admission{life{History: h, Source: Source{h.Rand}, namespace: h.ID, name: h.ID}, admitted, nil}
		a.install()
		for range admittedObjects {
			if a.Over() {
				break
			}
			a.object(pick(a.Source, admitted...))
		}
		a.uninstall()
	}
}

// admission is a namespace whose writes go through webhooks and policies.
type admission struct {
	life
	kinds    []*Kind
	versions []*Kind // of the present object
}

// rules returns the rules of a webhook or a policy: mostly for one version of a kind, so that others reach it as equivalent ones.
func (a *admission) rules() []any {
	groups, versions, resources := []any{"*"}, []any{"*"}, []any{pick(a.Source, "*", "*/*", "*/*", "*/scale", "*/status")}
	if a.chance(70) {
		k := pick(a.Source, a.kinds...)
		groups, versions, resources = []any{k.Group}, []any{k.Version}, []any{k.Resource, k.Resource + "/*"}
	}
	rules := []any{
		map[string]any{"apiGroups": groups, "apiVersions": versions, "resources": resources, "operations": []any{pick(a.Source, "*", "*", "CREATE", "UPDATE", "DELETE", "CONNECT")}, "scope": "Namespaced"},
	}
	if a.chance(50) {
		k := pick(a.Source, a.kinds...)
		rules = append(rules, map[string]any{"apiGroups": []any{k.Group}, "apiVersions": []any{k.Version}, "resources": []any{k.Resource}, "operations": []any{"*"}})
	}
	return rules
}

// conditions are the match conditions of a webhook or a policy.
func (a *admission) conditions() []any {
	if a.chance(70) {
		return []any{}
	}
	return []any{map[string]any{"name": "c", "expression": pick(a.Source, "request.kind.version != 'v2'", "!has(object.metadata.labels) || !('skip' in object.metadata.labels)", "object.metadata.name != 'x'", "request.operation != 'UPDATE'", "object.spec.replicas > 1",
		"request.subResource == ''", "oldObject == null", "request.?options.?fieldManager.orValue('') != 'm1'", "object.?metadata.?labels.?a.orValue('y') == 'y'", "request.?namespace.orValue('') != '' && request.dryRun == false")}}
}

// here selects the namespace of the history.
func (a *admission) here() map[string]any {
	return map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": a.namespace}}
}

// probed is the label of an object that shows whether webhooks and policies act. Only those that are there for it see it.
const probed = "random.example.com/probe"

// noProbe selects all other objects.
func noProbe() map[string]any {
	return map[string]any{"matchExpressions": []any{map[string]any{"key": probed, "operator": "DoesNotExist"}}}
}

func probesOf(what string) map[string]any {
	return map[string]any{"matchLabels": map[string]any{probed: what}}
}

// probeRules are for the objects that show whether webhooks and policies act.
func probeRules() []any {
	return []any{map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"}, "operations": []any{"CREATE"}}}
}

// webhook returns a webhook with a name that its URL ends with.
func (a *admission) webhook(name string) map[string]any {
	return map[string]any{"name": name + ".example.com", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "namespaceSelector": a.here(),
		"clientConfig": map[string]any{"url": "${webhook}/" + a.ID + "/" + name, "caBundle": "${authority}"}}
}

// install makes the webhooks and policies, and waits until they act. Those that show that come last.
func (a *admission) install() {
	a.Do(play.Step{Method: "POST", Path: "/api/v1/namespaces", Body: `{"metadata":{"name":"` + a.ID + `"}}`, Hidden: true})
	a.policies()
	for _, kind := range []string{"Mutating", "Validating"} {
		var hooks []any
		for _, name := range webhookNames[kind][:1+a.IntN(2)] {
			hook := a.webhook(name)
			hook["rules"], hook["matchConditions"], hook["objectSelector"] = a.rules(), a.conditions(), noProbe()
			hook["failurePolicy"], hook["matchPolicy"] = pick(a.Source, "Fail", "Fail", "Ignore"), pick(a.Source, "Exact", "Equivalent")
			if kind == "Mutating" {
				hook["reinvocationPolicy"] = pick(a.Source, "Never", "IfNeeded")
			}
			hooks = append(hooks, hook)
		}
		probe := a.webhook(webhookNames[kind][0])
		probe["name"], probe["rules"], probe["objectSelector"] = "probe.example.com", probeRules(), probesOf(lower(kind))
		a.register(lower(kind)+"webhookconfigurations", kind+"WebhookConfiguration", a.ID, map[string]any{"webhooks": append(hooks, probe)})
	}
	a.probe()
}

// webhookNames are the names of the webhooks of a configuration.
var webhookNames = map[string][]string{"Mutating": {"mutating", "remutating"}, "Validating": {"validating", "revalidating"}}

// register makes a configuration.
func (a *admission) register(resource, kind, name string, body map[string]any) {
	body["apiVersion"], body["kind"], body["metadata"] = "admissionregistration.k8s.io/v1", kind, map[string]any{"name": name}
	text, err := json.Marshal(body)
	if err != nil {
		return
	}
	if !strings.Contains(kind, "Webhook") { // a dry run shows whether both servers take it
		a.Do(play.Step{Method: "POST", Path: registrations + resource + "?dryRun=All", Body: string(text)})
	}
	a.Do(play.Step{Method: "POST", Path: registrations + resource, Body: string(text), Hidden: true})
}

// probe waits until webhooks and policies act, and forgets the reviews of that.
func (a *admission) probe() {
	path := "/api/v1/namespaces/" + a.namespace + "/configmaps?dryRun=All"
	probe := `{"metadata":{"name":"probe","labels":{"` + probed + `":"policy"}}}`
	a.Do(play.Step{Method: "POST", Path: path, Body: probe, Until: 422, Holds: "the policies act", Hidden: true})
	for _, name := range []string{"mutating", "validating"} {
		body := fmt.Sprintf(`{"metadata":{"name":"probe","labels":{%q:%q},"annotations":{%q:"{\"status\":{\"message\":\"%s acts\"}}"}}}`, probed, name, play.AnswerPrefix+name, name)
		a.Do(play.Step{Method: "POST", Path: path, Body: body, Until: 400, Holds: name + " acts", Hidden: true})
	}
	a.Do(play.Step{Method: play.Reviews, Path: a.ID, Hidden: true})
}

// uninstall takes everything away.
func (a *admission) uninstall() {
	for _, resource := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicybindings", "validatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingadmissionpolicies"} {
		a.Clean(play.Step{Method: "DELETE", Path: registrations + resource + "/" + a.ID})
		if strings.Contains(resource, "polic") {
			a.Clean(play.Step{Method: "DELETE", Path: registrations + resource + "/" + a.ID + probePolicy})
		}
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
