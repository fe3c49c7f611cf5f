package redact

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// Request is a request whose texts and values are to be shown. The zero value names no object; it hides texts that quote
// a Secret.
type Request struct {
	// Group, Resource and Subresource are those of the request, Namespace and Name those of the object, and User is the
	// user name. Any may be empty.
	Group, Resource, Subresource string
	Namespace, Name, User        string
	// Body is the body of the request.
	Body []byte
	// Secret: the request is about a Secret though its other fields do not show it.
	Secret bool

	tree *any // the body, once it has been read
}

// Object returns a request with the written object and nothing else.
func Object(object map[string]any) Request { return Request{}.With(object) }

// With returns the request with a parsed body, which is a JSON tree, or a string if the body is not JSON.
func (r Request) With(body any) Request {
	r.tree = &body
	r.Secret = r.Secret || r.rule() != nil || holds(body)
	return r
}

// Holds reports whether the request is about an object with sensitive fields: its resource has some, or its
// body has such an object in it.
func (r Request) Holds() bool {
	if r.Secret || r.rule() != nil {
		return true
	}
	if r.tree == nil && !bytes.Contains(r.Body, []byte("Secret")) && !bytes.Contains(r.Body, []byte("stringData")) {
		return false
	}
	if tree := r.sent(); tree != nil {
		return holds(tree)
	}
	return secretKind.Match(r.Body)
}

// rule returns the rule of the resource; nil if it does not have sensitive fields.
func (r Request) rule() rule {
	switch {
	case r.Group == "" && r.Resource == "secrets":
		return rules["Secret"]
	case r.Group == "" && r.Resource == "serviceaccounts" && r.Subresource == "token":
		return rules["TokenRequest"]
	case r.Group == "authentication.k8s.io" && r.Resource == "tokenreviews":
		return rules["TokenReview"]
	}
	return nil
}

// holds reports whether a tree has an object with sensitive fields in it.
func holds(tree any) bool {
	switch node := tree.(type) {
	case map[string]any:
		return ruleOf(node) != nil || node["kind"] == "SecretList" || slices.ContainsFunc(slices.Collect(maps.Values(node)), holds)
	case []any:
		return slices.ContainsFunc(node, holds)
	case string:
		return hasSecret(node)
	}
	return false
}

// secretKind finds the kind of a Secret in a text: in JSON, however often it is quoted, in YAML, and as Go
// prints maps and structs.
var secretKind = regexp.MustCompile(`[kK]ind[\\"']*\s*:\s*[\\"']*Secret(List)?\b`)

// hasSecret reports whether a text quotes a Secret, or is the manifest of one.
func hasSecret(text string) bool {
	return strings.Contains(text, "Secret") && secretKind.MatchString(text)
}

// read returns the request with its body read, for callers who redact several texts.
func (r Request) read() Request {
	if r.tree == nil && r.Holds() {
		r.Secret = true
		return r.With(r.sent())
	}
	return r
}

// sent returns the body as a JSON tree; nil if it is neither JSON nor YAML nor an object in protobuf.
func (r Request) sent() (tree any) {
	if r.tree != nil {
		return *r.tree
	}
	body := r.Body
	switch {
	case len(body) == 0:
		return nil
	case bytes.HasPrefix(body, []byte("k8s\x00")): // protobuf
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return nil
		}
		if body, err = json.Marshal(obj); err != nil {
			return nil
		}
	}
	if utiljson.Unmarshal(body, &tree) == nil {
		return tree
	}
	if body, err := yaml.YAMLToJSON(body); err == nil && utiljson.Unmarshal(body, &tree) == nil {
		return tree
	}
	return nil
}

// Value returns a copy of the value of a field without hidden values. The path is one of package history; empty: the
// value is the object. If the resource has no sensitive fields but the body has a Secret in it, all values except
// metadata are hidden.
func (r Request) Value(path string, value any) any {
	rule := r.rule()
	if rule == nil && r.Holds() {
		rule = hiddenInSecret
	}
	return walk(names(path), value, rule, maskedAs(Hidden))
}

// Replace is [Replace] for a body of the request, which may lack a kind, as a patch does.
func (r Request) Replace(tree any, replace func(path []string, value any) any) any {
	operations, isList := tree.([]any)
	if !isList || r.rule() == nil {
		return walk(nil, tree, r.rule(), replace)
	}
	redacted := make([]any, 0, len(operations)) // a JSON patch
	for _, one := range operations {
		operation, ok := one.(map[string]any)
		if !ok {
			redacted = append(redacted, walk(nil, one, r.rule(), replace))
			continue
		}
		path, _ := operation["path"].(string)
		left := maps.Clone(operation)
		if op, has := left["op"]; has && !slices.Contains([]any{"add", "copy", "move", "remove", "replace", "test"}, op) {
			left["op"] = Hidden
		}
		if value, has := left["value"]; has {
			left["value"] = walk(pointerNames(path), value, r.rule(), replace)
		}
		redacted = append(redacted, left)
	}
	return redacted
}

// ReplaceAnswer is [Replace] for the body of the response.
func (r Request) ReplaceAnswer(tree any, replace func(path []string, value any) any) any {
	rule := r.rule()
	if answer, _ := tree.(map[string]any); answer["kind"] == "Table" || answer["kind"] == "Status" {
		rule = nil
	}
	return walk(nil, tree, rule, replace)
}

// pointerNames returns the names in a JSON pointer.
func pointerNames(pointer string) []string {
	elements := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, name := range elements {
		elements[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	}
	if pointer == "" || pointer == "/" {
		return nil
	}
	return elements
}

// options are the query parameters of the API. Others, of a proxy or an aggregated server, may be tokens.
var options = []string{
	"allowWatchBookmarks", "continue", "dryRun", "exclude", "export", "fieldManager", "fieldSelector", "fieldValidation", "force",
	"gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "includeObject", "labelSelector", "limit", "orphanDependents",
	"pretty", "propagationPolicy", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeout", "timeoutSeconds", "verbose", "watch",
}

// Query returns the query of a URL without the values of parameters that the API does not have.
func Query(query string) string {
	if query == "" {
		return ""
	}
	hides := false
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if _, ok := slices.BinarySearch(options, name); !ok {
			hides = true
		}
	}
	if !hides {
		return query
	}
	var parts []string
	for part := range strings.SplitSeq(query, "&") {
		name, _, has := strings.Cut(part, "=")
		if _, ok := slices.BinarySearch(options, name); !ok {
			if part = "(hidden)"; has {
				part = name + "=(hidden)"
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "&")
}
