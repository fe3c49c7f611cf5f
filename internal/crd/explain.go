package crd

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// oneRule is a single CEL rule of a schema, so that its cost can be measured.
type oneRule struct {
	node, rule string
	validator  *cel.Validator // of the schema with this rule only; nil: a stored rule does not compile
}

// rulesOneByOne compiles each rule of a schema separately.
func rulesOneByOne(s *structuralschema.Structural) []oneRule {
	if s == nil {
		return nil
	}
	var found []oneRule
	for n := 0; ; n++ {
		only := s.DeepCopy()
		k := ruleFilter{number: n}
		k.structural(schemaRoot, only)
		if k.node == "" {
			return found
		}
		found = append(found, oneRule{k.node, k.rule, cel.NewValidator(only, true, celconfig.PerCallLimit)})
	}
}

// schemaRoot is the field of a version with its schema.
const schemaRoot = "openAPIV3Schema"

// ruleFilter removes all rules except one from a schema.
type ruleFilter struct {
	number int    // of the rule to keep
	seen   int    // number of rules so far
	node   string // of the rule to keep
	rule   string
}

func (k *ruleFilter) keep(node string, rules *structuralschema.ValidationExtensions) {
	declared := rules.XValidations
	rules.XValidations = nil
	for i := range declared {
		if k.seen == k.number {
			rules.XValidations = declared[i : i+1]
			k.node, k.rule = node, declared[i].Rule
		}
		k.seen++
	}
}

func (k *ruleFilter) structural(node string, s *structuralschema.Structural) {
	k.keep(node, &s.ValidationExtensions)
	if s.Items != nil {
		k.structural(node+".items", s.Items)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		k.structural(node+".additionalProperties", s.AdditionalProperties.Structural)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		k.structural(node+".properties."+name, &property)
		s.Properties[name] = property
	}
	if s.ValueValidation != nil {
		k.values(node, s.ValueValidation)
	}
}

// values filters the nested schemas of a node. Those of allOf can have rules.
func (k *ruleFilter) values(node string, v *structuralschema.ValueValidation) {
	for i := range v.AllOf {
		k.nested(node+".allOf["+strconv.Itoa(i)+"]", &v.AllOf[i])
	}
}

func (k *ruleFilter) nested(node string, n *structuralschema.NestedValueValidation) {
	k.keep(node, &n.ValidationExtensions)
	if n.Items != nil {
		k.nested(node+".items", n.Items)
	}
	if n.AdditionalProperties != nil {
		k.nested(node+".additionalProperties", n.AdditionalProperties)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		property := n.Properties[name]
		k.nested(node+".properties."+name, &property)
		n.Properties[name] = property
	}
	k.values(node, &n.ValueValidation)
}

// explain implements resource.Version.Explain.
func (s customStrategy) explain(ctx context.Context, j *resource.Validated) {
	if j.Subresource != "" && j.Subresource != "status" && j.Subresource != "scale" {
		return
	}
	u, ok := j.Object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	former, _ := j.Old.(*unstructured.Unstructured)
	if !slices.ContainsFunc(j.Refused, func(r inspect.FieldError) bool { return stopsRules[field.ErrorType(r.Type)] }) {
		s.explainRules(ctx, j, u, former)
	}
	if former != nil {
		s.explainRatcheting(ctx, j, u, former)
	}
	for _, causes := range [][]inspect.FieldError{j.Refused, j.Ratcheted} {
		for i := range causes {
			if causes[i].Node == "" {
				causes[i].Node, causes[i].Schema = s.schema.nodeOf(causes[i].Path, causes[i].Type)
			}
		}
	}
}

// stopsRules are the errors after which the rules are not evaluated.
var stopsRules = map[field.ErrorType]bool{
	field.ErrorTypeNotSupported: true, field.ErrorTypeRequired: true, field.ErrorTypeTooLong: true, field.ErrorTypeTooMany: true, field.ErrorTypeTypeInvalid: true,
}

// explainRules evaluates the rules one by one, and records the errors of each. It evaluates them as for a new object, so
// that it also finds ratcheted errors.
func (s customStrategy) explainRules(ctx context.Context, j *resource.Validated, u, former *unstructured.Unstructured) {
	var old any
	if former != nil {
		old = former.Object
	}
	for _, r := range s.schema.explained() {
		if r.validator == nil {
			continue
		}
		errs, left := r.validator.Validate(ctx, nil, s.schema.structural, u.Object, old, celconfig.RuntimeCELCostBudget)
		entry := inspect.CELRule{Node: r.node, Rule: r.rule, Cost: celconfig.RuntimeCELCostBudget - left}
		for _, err := range errs {
			entry.Refuses = append(entry.Refuses, pathOf(err))
			found := refusal(err)
			found.Node, found.Rule, found.Cost = r.node, r.rule, entry.Cost
			if i := indexOf(j.Refused, found); i >= 0 {
				if j.Refused[i].Rule == "" {
					j.Refused[i] = found
				}
			} else if former != nil {
				j.Ratcheted = append(j.Ratcheted, found)
			}
		}
		j.Rules = append(j.Rules, entry)
	}
}

// explainRatcheting records the errors of the schema that ratcheting has suppressed.
func (s customStrategy) explainRatcheting(_ context.Context, j *resource.Validated, u, former *unstructured.Unstructured) {
	var errs field.ErrorList
	if j.Subresource != "status" {
		errs = validation.ValidateCustomResource(nil, u.Object, s.schema.validator())
	} else if status, ok := u.Object["status"]; ok {
		errs = validation.ValidateCustomResource(field.NewPath("status"), status, s.schema.status())
	}
	if len(s.validateLists(former)) > 0 {
		errs = append(errs, s.validateLists(u)...)
	}
	for _, err := range errs {
		if found := refusal(err); indexOf(j.Refused, found) < 0 {
			j.Ratcheted = append(j.Ratcheted, found)
		}
	}
}

// refusal converts an error to the form of a cause in a Status.
func refusal(err *field.Error) inspect.FieldError {
	return inspect.FieldError{Path: pathOf(err), Type: string(metav1.CauseType(err.Type)), Message: err.ErrorBody()}
}

func pathOf(err *field.Error) string { return strings.TrimPrefix(err.Field, "<nil>") }

func indexOf(causes []inspect.FieldError, cause inspect.FieldError) int {
	return slices.IndexFunc(causes, func(r inspect.FieldError) bool { return r.Path == cause.Path && r.Message == cause.Message })
}

// nodeOf returns the path of the schema node for a field, and the node without its children.
func (s *compiledSchema) nodeOf(path, kind string) (node string, about json.RawMessage) {
	if s.structural == nil || path == "" || path == "metadata" || strings.HasPrefix(path, "metadata.") {
		return "", nil
	}
	node = schemaRoot
	here, last := s.structural, s.structural
	parent := node
	for rest := path; rest != ""; {
		name, below, found := step(here, &rest)
		if !found {
			return "", nil
		}
		parent, node = node, node+name
		last, here = here, below
	}
	if field.ErrorType(kind) == field.ErrorTypeRequired && here != s.structural {
		node, here = parent, last
	}
	only := *here
	only.Items, only.Properties, only.AdditionalProperties, only.XValidations = nil, nil, nil, nil
	only.Description, only.Title = "", ""
	text, err := json.Marshal(only.ToKubeOpenAPI())
	if err != nil || string(text) == "{}" {
		return node, nil
	}
	return node, text
}

// step removes the first field from a path, and returns the node of this field.
func step(here *structuralschema.Structural, path *string) (name string, below *structuralschema.Structural, found bool) {
	text := *path
	if item, ok := strings.CutPrefix(text, "["); ok {
		_, rest, closed := strings.Cut(item, "]")
		if !closed {
			return "", nil, false
		}
		*path = rest
		if here.Items != nil {
			return ".items", here.Items, true
		}
		return valuesOf(here)
	}
	text = strings.TrimPrefix(text, ".")
	// A name may contain dots.
	names := slices.SortedFunc(maps.Keys(here.Properties), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, name := range names {
		if rest, ok := strings.CutPrefix(text, name); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			*path = rest
			property := here.Properties[name]
			return ".properties." + name, &property, true
		}
	}
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	*path = text[end:]
	return valuesOf(here)
}

func valuesOf(here *structuralschema.Structural) (string, *structuralschema.Structural, bool) {
	if here.AdditionalProperties == nil || here.AdditionalProperties.Structural == nil {
		return "", nil, false
	}
	return ".additionalProperties", here.AdditionalProperties.Structural, true
}
