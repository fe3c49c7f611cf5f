package explore

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
)

// createNeeds creates the objects that the custom resource needs. Objects of other kinds (own is false) are
// created before the operator starts, and custom resources of the operator (own is true) after that, because
// it serves their webhooks. It reports whether the trial can continue.
func (p *player) createNeeds(own bool) bool {
	created := false
	for _, n := range p.seed.needs {
		if p.isSubject(n.resource.GroupResource().String()) != own {
			continue
		}
		created = true
		if _, err := p.client.Resource(n.resource).Namespace(n.object.GetNamespace()).Create(context.Background(), n.object.DeepCopy(), createOptions); err != nil && !apierrors.IsAlreadyExists(err) {
			p.out.err = fmt.Errorf("Subject.Seeds: creating %s: %w", n.name, err)
			return false
		}
	}
	return !own || !created || p.settle(-1)
}

// supply deletes or creates an object that the custom resource needs.
func (p *player) supply(s generate.Step) error {
	for _, n := range p.seed.needs {
		if n.name != s.Object {
			continue
		}
		p.withdrawn[n.name] = s.Verb == generate.Withdraw
		p.needEdits = slices.DeleteFunc(p.needEdits, func(former generate.Step) bool { return former.Object == n.name })
		objects := p.client.Resource(n.resource).Namespace(n.object.GetNamespace())
		if s.Verb == generate.Withdraw {
			return objects.Delete(context.Background(), n.object.GetName(), deleteOptions)
		}
		_, err := objects.Create(context.Background(), n.object.DeepCopy(), createOptions)
		return err
	}
	return fmt.Errorf("there is no %s in the seeds", s.Object)
}

// editNeed changes an object that the custom resource needs.
func (p *player) editNeed(s generate.Step) error {
	for _, n := range p.seed.needs {
		if n.name != s.Object {
			continue
		}
		p.needEdits = append(slices.DeleteFunc(p.needEdits, func(former generate.Step) bool { return former.Object == s.Object && former.Path == s.Path }), s)
		p.needEdits[len(p.needEdits)-1].Rush = false
		if s.Value == nil {
			s = generate.Step{Verb: generate.Remove, Path: s.Path}
		}
		return p.change(n.resource, n.object.GetNamespace(), n.object.GetName(), s)
	}
	return fmt.Errorf("there is no %s in the seeds", s.Object)
}

// mostNeedEdits is how many changes of an object that a custom resource needs are tried.
const mostNeedEdits = 6

// edits returns changes of an object that a custom resource needs, in fields that the operator probably
// reads: the values of a Secret or a ConfigMap, and the spec of a custom resource of the operator.
func (n need) edits() (found []generate.Step) {
	edit := func(path string, value any) {
		if len(found) < mostNeedEdits {
			found = append(found, generate.Step{Verb: generate.EditNeed, Object: n.name, Path: path, Value: value})
		}
	}
	if n.schema != nil {
		paths := map[string]bool{}
		for _, c := range generate.Changes(n.schema, n.object.Object) {
			if s := c.Steps[0]; s.Verb == generate.Set && strings.HasPrefix(s.Path, "/spec") && !paths[s.Path] {
				paths[s.Path] = true
				edit(s.Path, s.Value)
			}
		}
		return found
	}
	for _, field := range []string{"data", "stringData"} {
		values, _, _ := unstructured.NestedStringMap(n.object.Object, field)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			text, path := values[key], "/data/"+key
			encoded := n.object.GetKind() == "Secret"
			if decoded, err := base64.StdEncoding.DecodeString(text); encoded && field == "data" && err == nil {
				text = string(decoded)
			}
			isDocument := strings.Contains(text, "\n") // such as a certificate, which a change would make invalid
			if text += "2"; encoded {
				text = base64.StdEncoding.EncodeToString([]byte(text))
			}
			if !isDocument {
				edit(path, text)
			}
			edit(path, nil)
		}
	}
	return found
}

// dependsOn reports whether an object refers to another one by its name, directly or through other samples.
// Objects with its own name do not count.
func dependsOn(from, to *unstructured.Unstructured, samples []*unstructured.Unstructured) bool {
	reached := []*unstructured.Unstructured{from}
	for i := 0; i < len(reached); i++ {
		for _, next := range samples {
			if next.GetName() != reached[i].GetName() && refersTo(reached[i].Object["spec"], next.GetName()) && !slices.Contains(reached, next) {
				reached = append(reached, next)
			}
		}
	}
	return from != to && slices.Contains(reached, to)
}

// refersTo reports whether a name is among the texts of a value.
func refersTo(value any, name string) bool {
	switch value := value.(type) {
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(value)), func(v any) bool { return refersTo(v, name) })
	case []any:
		return slices.ContainsFunc(value, func(v any) bool { return refersTo(v, name) })
	}
	return value == name
}
