package generate

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

func (a *admission) withAnswers(object map[string]any) map[string]any {
	with, _ := set(object, change{path: []string{"metadata", "annotations"}, value: a.answers()}).(map[string]any)
	return with
}

// answers returns annotations that say what webhooks answer.
func (a *admission) answers() map[string]any {
	annotations := map[string]any{}
	for _, name := range []string{"mutating", "remutating", "validating", "revalidating"} {
		// The webhooks of a phase that validates are called at the same time: of two that refuse, chance decides which one is told.
		if a.chance(40) || name == "revalidating" && annotations[play.AnswerPrefix+"validating"] != nil {
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
	case n < 9 && strings.HasSuffix(name, "mutating") || n == 9:
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
			c = pick(a.Source, change{path: []string{"kind"}, value: "Other"}, change{path: []string{"apiVersion"}, value: "v9"}, change{path: []string{"metadata", "name"}, value: fmt.Sprintf("other-%d", a.IntN(1e9))}, change{path: []string{"metadata", "namespace"}, value: "other"}, change{path: []string{"metadata", "deletionTimestamp"}, value: "2001-01-01T00:00:00Z"}, change{path: []string{"metadata", "uid"}, value: "u"}, change{path: []string{"metadata", "resourceVersion"}, value: "1"})
		}
		operations = append(operations, map[string]any{"op": pick(a.Source, "add", "add", "add", "replace", "remove"), "path": c.pointer(), "value": c.value})
	}
	return operations
}
