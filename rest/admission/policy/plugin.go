package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/rest/admission"
	"github.com/fakecluster/fakecluster/rest/content"
	"github.com/fakecluster/fakecluster/store"
)

// plugin carries out the policies of a cluster. It is immutable.
type plugin struct {
	validating []validatingPolicy
	mutating   []mutatingPolicy
}

// validatingPolicy is a policy with the bindings that name it, by name.
type validatingPolicy struct {
	*admissionregistrationv1.ValidatingAdmissionPolicy
	*validatingEvaluator
	bindings []validatingBinding
}

type validatingBinding struct {
	*admissionregistrationv1.ValidatingAdmissionPolicyBinding
	match *match // nil: all that the policy is for
}

// mutatingPolicy is a policy with the bindings that name it, by name.
type mutatingPolicy struct {
	*admissionregistrationv1.MutatingAdmissionPolicy
	*mutatingEvaluator
	bindings []mutatingBinding
}

type mutatingBinding struct {
	*admissionregistrationv1.MutatingAdmissionPolicyBinding
	match *match
}

// compiledValidating and compiledMutating remember what specs compile to, by their
// text.
var (
	compiledValidating = content.NewCache[content.ID, *compiled[admissionregistrationv1.ValidatingAdmissionPolicySpec, *validatingEvaluator]](256)
	compiledMutating   = content.NewCache[content.ID, *compiled[admissionregistrationv1.MutatingAdmissionPolicySpec, *mutatingEvaluator]](256)
)

// compiled is a spec and what it compiles to, which refers to it.
type compiled[S, E any] struct {
	spec      S
	evaluator E
}

// New makes the plugin of the stored ValidatingAdmissionPolicies, their bindings,
// MutatingAdmissionPolicies and their bindings, or nil if no binding names a policy.
func New(_ admission.Plugin, records ...[]store.Record) (admission.Plugin, error) {
	validating, err := readAll[admissionregistrationv1.ValidatingAdmissionPolicyBinding](records[1])
	if err != nil {
		return nil, err
	}
	mutating, err := readAll[admissionregistrationv1.MutatingAdmissionPolicyBinding](records[3])
	if err != nil {
		return nil, err
	}
	p := &plugin{}
	for _, record := range records[0] {
		c, err := compile(compiledValidating, record, compileValidating)
		if err != nil {
			return nil, err
		}
		policy := validatingPolicy{
			ValidatingAdmissionPolicy: &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metadataOf(record), Spec: c.spec},
			validatingEvaluator:       c.evaluator,
		}
		for _, b := range validating {
			if b.Spec.PolicyName == policy.Name {
				policy.bindings = append(policy.bindings, validatingBinding{b, bindingMatch(b.Spec.MatchResources)})
			}
		}
		if len(policy.bindings) > 0 {
			p.validating = append(p.validating, policy)
		}
	}
	for _, record := range records[2] {
		c, err := compile(compiledMutating, record, compileMutating)
		if err != nil {
			return nil, err
		}
		policy := mutatingPolicy{
			MutatingAdmissionPolicy: &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metadataOf(record), Spec: c.spec},
			mutatingEvaluator:       c.evaluator,
		}
		for _, b := range mutating {
			if b.Spec.PolicyName == policy.Name {
				policy.bindings = append(policy.bindings, mutatingBinding{b, bindingMatch(b.Spec.MatchResources)})
			}
		}
		if len(policy.bindings) > 0 {
			p.mutating = append(p.mutating, policy)
		}
	}
	slices.SortFunc(p.validating, func(a, b validatingPolicy) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(p.mutating, func(a, b mutatingPolicy) int { return cmp.Compare(a.Name, b.Name) })
	if len(p.validating) == 0 && len(p.mutating) == 0 {
		return nil, nil
	}
	return p, nil
}

func metadataOf(record store.Record) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: gjson.Get(record.Value, "metadata.name").Str}
}

func bindingMatch(m *admissionregistrationv1.MatchResources) *match {
	if m == nil {
		return nil
	}
	return newMatch(m)
}

// compile compiles the spec of a stored policy, unless what it compiles to is known.
func compile[S, E any](known *content.Cache[content.ID, *compiled[S, E]], record store.Record, compileSpec func(*S) E) (*compiled[S, E], error) {
	text := gjson.Get(record.Value, "spec").Raw
	id := content.NewID(text)
	if c, ok := known.Get(id); ok {
		return c, nil
	}
	c := &compiled[S, E]{}
	if err := json.Unmarshal([]byte(text), &c.spec); err != nil {
		return nil, fmt.Errorf("reading %s: %w", record.Key, err)
	}
	c.evaluator = compileSpec(&c.spec)
	return known.Put(id, c, 1), nil
}

func readAll[T any](records []store.Record) ([]*T, error) {
	all := make([]*T, len(records))
	for i, record := range records {
		all[i] = new(T)
		if err := json.Unmarshal([]byte(record.Value), all[i]); err != nil {
			return nil, fmt.Errorf("reading %s: %w", record.Key, err)
		}
	}
	return all, nil
}

// exempt are the kinds that policies have no say in, so that they can always be
// repaired.
var exempt = map[schema.GroupResource]bool{
	{Group: admissionregistrationv1.GroupName, Resource: "validatingadmissionpolicies"}:       true,
	{Group: admissionregistrationv1.GroupName, Resource: "validatingadmissionpolicybindings"}: true,
	{Group: admissionregistrationv1.GroupName, Resource: "mutatingadmissionpolicies"}:         true,
	{Group: admissionregistrationv1.GroupName, Resource: "mutatingadmissionpolicybindings"}:   true,
}
