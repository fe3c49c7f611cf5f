package explore

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
)

// checkSpec checks that the operator has not changed the spec, labels and annotations that the user has set
// in the custom resource.
func (p *player) checkSpec(u *unstructured.Unstructured) {
	wanted, err := p.desired()
	if err != nil || !p.subject.checks(KeepsSpec) {
		return
	}
	for _, s := range p.edits {
		if _, set := generate.Get(wanted, s.Path); s.Verb == generate.Remove && !set {
			// The user wants the default that the server sets, if any.
			if wanted, err = generate.Edit(wanted, generate.Step{Verb: generate.Set, Path: s.Path}); err != nil {
				return
			}
		}
	}
	history, err := p.run.cluster.History(u)
	if err != nil {
		return
	}
	for i, revision := range history {
		if i == 0 || !fromOperator(revision.AuditID) || revision.Object == nil || history[i-1].Object == nil {
			continue
		}
		before, after := history[i-1].Object, revision.Object
		if before.GetUID() != after.GetUID() {
			continue
		}
		path := changedOf(wanted, before.Object, after.Object)
		if path == "" {
			continue
		}
		code := p.codeOf(revision.AuditID)
		key := code
		if key == "" {
			key = path
		}
		p.report(problem{oracle: KeepsSpec, key: key, step: p.step,
			what:   fmt.Sprintf("the operator has changed the %s of %s, which the user has set:", path, p.seed.name),
			detail: strings.TrimSpace(revision.String() + "\n" + code)})
		return
	}
}

// changedOf returns the path of a field that the user has set and that a write has removed or changed, or "".
func changedOf(wanted, before, after map[string]any) string {
	if path := changedIn("/spec", wanted["spec"], before["spec"], after["spec"]); path != "" {
		return path
	}
	for _, name := range []string{"labels", "annotations"} {
		texts := func(object map[string]any) map[string]any {
			found, _, _ := unstructured.NestedMap(object, "metadata", name)
			return found
		}
		former, has := texts(before), texts(after)
		for _, key := range slices.Sorted(maps.Keys(texts(wanted))) {
			value, exists := has[key]
			// An operator may remove a label or annotation that requests an action, when the action is done.
			if _, existed := former[key]; existed && (exists && value != former[key] || !exists && strings.HasPrefix(key, "explore.example.com/")) {
				return "/metadata/" + name + "/" + escapeKey.Replace(key)
			}
		}
	}
	return ""
}

// changedIn does the same for the values at a path.
func changedIn(path string, wanted, before, after any) string {
	switch wanted := wanted.(type) {
	case map[string]any:
		former, isMap := before.(map[string]any)
		has, _ := after.(map[string]any)
		if !isMap {
			return ""
		}
		for _, key := range slices.Sorted(maps.Keys(wanted)) {
			below := path + "/" + escapeKey.Replace(key)
			value, existed := former[key]
			now, exists := has[key]
			switch {
			case !existed || !exists && isZero(value):
			case !exists:
				return below
			default:
				if changed := changedIn(below, wanted[key], value, now); changed != "" {
					return changed
				}
			}
		}
	case []any:
		former, isList := before.([]any)
		has, _ := after.([]any)
		if !isList {
			return ""
		}
		if len(former) != len(has) {
			if missing := slices.ContainsFunc(former, func(item any) bool {
				return !slices.ContainsFunc(has, func(other any) bool { return reflect.DeepEqual(item, other) })
			}); missing {
				return path
			}
			return "" // there are more
		}
		for i := range min(len(former), len(wanted)) {
			if changed := changedIn(fmt.Sprintf("%s/%d", path, i), wanted[i], former[i], has[i]); changed != "" {
				return changed
			}
		}
	default:
		if !means(before, after) {
			return path
		}
	}
	return ""
}

// isZero reports whether a typed client may leave a value out.
func isZero(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, field := range value {
			if !isZero(field) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	case nil:
		return true
	}
	return reflect.ValueOf(value).IsZero()
}

// means reports whether two values have the same meaning. A typed client formats quantities, durations and
// times in its own way.
func means(a, b any) bool {
	if reflect.DeepEqual(a, b) || fmt.Sprint(a) == fmt.Sprint(b) {
		return true
	}
	one, isText := a.(string)
	other, areTexts := b.(string)
	if !isText || !areTexts {
		return false
	}
	return parseSame(one, other, time.ParseDuration, func(x, y time.Duration) bool { return x == y }) ||
		parseSame(one, other, func(text string) (time.Time, error) { return time.Parse(time.RFC3339Nano, text) }, time.Time.Equal) ||
		parseSame(one, other, resource.ParseQuantity, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}

// parseSame reports whether two texts can be parsed, and are equal then.
func parseSame[T any](a, b string, parse func(string) (T, error), equal func(T, T) bool) bool {
	x, err := parse(a)
	if err != nil {
		return false
	}
	y, err := parse(b)
	return err == nil && equal(x, y)
}
