package redact

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Hidden replaces a hidden value, and Former the old value in a change of one.
const (
	Hidden = "(a secret)"
	Former = "(what was there)"
)

// rule reports whether the leaf at a path of an object is hidden.
type rule func(path []string, value any) bool

// rules are those of the kinds with sensitive fields. They hide all values that are not listed as public, because a
// misspelled field may hold a secret.
var rules = map[string]rule{
	"Secret":       hiddenInSecret,
	"TokenReview":  hiddenExcept("spec.audiences", "status.authenticated", "status.audiences", "status.user"),
	"TokenRequest": hiddenExcept("spec.audiences", "spec.expirationSeconds", "spec.boundObjectRef", "status.expirationTimestamp"),
}

// publicAnnotations name the service account of a Secret with a token.
var publicAnnotations = []string{"kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"}

// hiddenExcept hides the values that are hidden in Secrets, except some fields.
func hiddenExcept(fields ...string) rule {
	return func(path []string, value any) bool {
		return hiddenInSecret(path, value) && (len(path) < 2 || !slices.Contains(fields, path[0]+"."+path[1]))
	}
}

// hiddenInSecret is the rule of Secrets.
func hiddenInSecret(path []string, value any) bool {
	if len(path) == 0 {
		return true
	}
	switch path[0] {
	case "kind":
		kind, _ := value.(string)
		return len(path) > 1 || !isKind(kind)
	case "apiVersion":
		text, _ := value.(string)
		gv, err := schema.ParseGroupVersion(text)
		return len(path) > 1 || err != nil || !scheme.Scheme.IsVersionRegistered(gv)
	case "type":
		_, isText := value.(string)
		return len(path) > 1 || !isText
	case "immutable":
		_, isBool := value.(bool)
		return len(path) > 1 || !isBool
	case "metadata":
		return len(path) == 1 || path[1] == "annotations" && (len(path) != 3 || !slices.Contains(publicAnnotations, path[2]))
	}
	directive := path[len(path)-1] == "$patch" && (value == "replace" || value == "merge" || value == "delete") // of a strategic merge patch
	return !directive
}

// isKind reports whether a text is the name of a kind.
func isKind(name string) bool {
	return slices.Contains(kinds, name) || scheme.Scheme.Recognizes(corev1.SchemeGroupVersion.WithKind(name))
}

// kinds lists kinds outside the core group that isKind accepts.
var kinds = []string{"CreateOptions", "DeleteOptions", "PatchOptions", "TokenRequest", "TokenReview", "UpdateOptions"}

// ruleOf returns the rule for an object, or nil if its kind has no rule. A reference to a Secret, such as an
// Event's involvedObject, has no rule. An object with stringData is treated as a Secret.
func ruleOf(object map[string]any) rule {
	if _, has := object["stringData"]; has {
		return hiddenInSecret
	}
	kind, _ := object["kind"].(string)
	found := rules[kind]
	if found == nil {
		return nil
	}
	for _, field := range []string{"metadata", "data", "stringData", "spec", "status"} {
		if _, has := object[field]; has {
			return found
		}
	}
	return nil
}

// IsSecret reports whether an object is a Secret, or has stringData as only Secrets do.
func IsSecret(object map[string]any) bool {
	_, has := object["stringData"]
	return has || object["kind"] == "Secret" && ruleOf(object) != nil
}

// Dropped is the result of a function for [Replace] that removes the field.
var Dropped any = new(int)

// Replace returns a copy of a tree of JSON in which replace has been called for each hidden leaf, with its
// path in the object that it belongs to. Replace looks for objects of the kinds with sensitive fields
// anywhere in the tree, and in manifests that are texts. It visits the fields of an object in the order of their names.
func Replace(tree any, replace func(path []string, value any) any) any {
	return walk(nil, tree, nil, replace)
}

func walk(path []string, value any, hides rule, replace func([]string, any) any) any {
	path = path[:len(path):len(path)]
	switch node := value.(type) {
	case nil:
		return nil
	case map[string]any:
		if nested := ruleOf(node); nested != nil {
			hides, path = nested, nil
		}
		fields := make(map[string]any, len(node))
		for _, name := range slices.Sorted(maps.Keys(node)) {
			field := node[name]
			below, full := hides, append(path, name)
			if kind, _ := node["kind"].(string); name == "items" && len(path) == 0 && strings.HasSuffix(kind, "List") {
				full = nil // items of built-in lists do not have a kind
				if kind == "SecretList" {
					below = hiddenInSecret
				}
			}
			if left := walk(full, field, below, replace); left != Dropped {
				fields[name] = left
			}
		}
		return fields
	case []any:
		items := make([]any, 0, len(node))
		for _, item := range node {
			if left := walk(path, item, hides, replace); left != Dropped {
				items = append(items, left)
			}
		}
		return items
	}
	if text, ok := value.(string); hides != nil && hides(path, value) || ok && hasSecret(text) {
		return replace(path, value)
	}
	return value
}

// Value returns a copy of a tree of JSON without hidden values.
func Value(tree any) any { return walk(nil, tree, nil, maskedAs(Hidden)) }

// SecretField returns the value of a field of a Secret as it is shown. The path is one of package history, such
// as data["tls.crt"]. Mask is Hidden or Former.
func SecretField(path string, value any, mask string) any {
	return walk(names(path), value, hiddenInSecret, maskedAs(mask))
}

func maskedAs(mask string) func([]string, any) any {
	return func([]string, any) any { return mask }
}

// names returns the names in a path that rules look at.
func names(path string) []string {
	var values []string
	for path = strings.TrimPrefix(path, "."); path != ""; path = strings.TrimPrefix(path, ".") {
		if quoted, ok := strings.CutPrefix(path, `["`); ok {
			if name, rest, closed := strings.Cut(quoted, `"]`); closed {
				values, path = append(values, name), rest
				continue
			}
		}
		end := strings.IndexAny(path[1:], ".[") + 1
		if end == 0 {
			end = len(path)
		}
		values, path = append(values, path[:end]), path[end:]
	}
	return values
}
