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

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/store"
)

// plugin evaluates the policies of a cluster. It is immutable.
type plugin struct {
	validating []validatingPolicy
	mutating   []mutatingPolicy

	// The compiled specs of all policies, for the next plugin.
	validatingSpecs compiledSpecs[admissionregistrationv1.ValidatingAdmissionPolicySpec, *validatingEvaluator]
	mutatingSpecs   compiledSpecs[admissionregistrationv1.MutatingAdmissionPolicySpec, *mutatingEvaluator]
}

// validatingPolicy is a policy with the bindings that name it, by name.
type validatingPolicy struct {
	*admissionregistrationv1.ValidatingAdmissionPolicy
	*validatingEvaluator
	bindings []validatingBinding
}

type validatingBinding struct {
	*admissionregistrationv1.ValidatingAdmissionPolicyBinding
	match *match // nil if the binding matches whatever the policy matches
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

// compiled is a spec and its evaluator, which refers to the spec.
type compiled[S, E any] struct {
	spec      S
	evaluator E
}

// compiledSpecs holds compiled specs by their text.
type compiledSpecs[S, E any] map[cache.ID]*compiled[S, E]

// compiledValidating and compiledMutating keep up to 256 compiled specs each, by the text of the
// spec, for all clusters of the process.
var (
	compiledValidating = cache.NewCache[cache.ID, *compiled[admissionregistrationv1.ValidatingAdmissionPolicySpec, *validatingEvaluator]](256)
	compiledMutating   = cache.NewCache[cache.ID, *compiled[admissionregistrationv1.MutatingAdmissionPolicySpec, *mutatingEvaluator]](256)
)

// New makes the plugin from the stored ValidatingAdmissionPolicies, their bindings,
// MutatingAdmissionPolicies and their bindings. It returns nil if no binding names a policy.
func New(was admission.Plugin, records ...[]store.Record) (admission.Plugin, error) {
	former, ok := was.(*plugin)
	if !ok {
		former = &plugin{}
	}
	p := &plugin{}
	if err := p.readValidating(former, records[0], records[1]); err != nil {
		return nil, err
	}
	if err := p.readMutating(former, records[2], records[3]); err != nil {
		return nil, err
	}
	if len(p.validating) == 0 && len(p.mutating) == 0 {
		return nil, nil
	}
	return p, nil
}

func (p *plugin) readValidating(former *plugin, policies, bindings []store.Record) error {
	all, err := readAll[admissionregistrationv1.ValidatingAdmissionPolicyBinding](bindings)
	if err != nil {
		return err
	}
	p.validatingSpecs = compiledSpecs[admissionregistrationv1.ValidatingAdmissionPolicySpec, *validatingEvaluator]{}
	for _, record := range policies {
		c, err := p.validatingSpecs.compile(record, former.validatingSpecs, compiledValidating, compileValidating)
		if err != nil {
			return err
		}
		policy := validatingPolicy{
			ValidatingAdmissionPolicy: &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metadataOf(record), Spec: c.spec},
			validatingEvaluator:       c.evaluator,
		}
		for _, b := range all {
			if b.Spec.PolicyName == policy.Name {
				policy.bindings = append(policy.bindings, validatingBinding{b, bindingMatch(b.Spec.MatchResources)})
			}
		}
		if len(policy.bindings) > 0 {
			p.validating = append(p.validating, policy)
		}
	}
	slices.SortFunc(p.validating, func(a, b validatingPolicy) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

func (p *plugin) readMutating(former *plugin, policies, bindings []store.Record) error {
	all, err := readAll[admissionregistrationv1.MutatingAdmissionPolicyBinding](bindings)
	if err != nil {
		return err
	}
	p.mutatingSpecs = compiledSpecs[admissionregistrationv1.MutatingAdmissionPolicySpec, *mutatingEvaluator]{}
	for _, record := range policies {
		c, err := p.mutatingSpecs.compile(record, former.mutatingSpecs, compiledMutating, compileMutating)
		if err != nil {
			return err
		}
		policy := mutatingPolicy{
			MutatingAdmissionPolicy: &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metadataOf(record), Spec: c.spec},
			mutatingEvaluator:       c.evaluator,
		}
		for _, b := range all {
			if b.Spec.PolicyName == policy.Name {
				policy.bindings = append(policy.bindings, mutatingBinding{b, bindingMatch(b.Spec.MatchResources)})
			}
		}
		if len(policy.bindings) > 0 {
			p.mutating = append(p.mutating, policy)
		}
	}
	slices.SortFunc(p.mutating, func(a, b mutatingPolicy) int { return cmp.Compare(a.Name, b.Name) })
	return nil
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

// compile adds the compiled spec of a stored policy. It compiles the spec unless it finds it in
// the last plugin or in the cache.
func (all compiledSpecs[S, E]) compile(record store.Record, former compiledSpecs[S, E], known *cache.Cache[cache.ID, *compiled[S, E]],
	compileSpec func(*S) E) (*compiled[S, E], error) {
	text := gjson.Get(record.Value, "spec").Raw
	id := cache.NewID(text)
	c, ok := former[id]
	if !ok {
		c, ok = known.Get(id)
	}
	if !ok {
		c = &compiled[S, E]{}
		if err := json.Unmarshal([]byte(text), &c.spec); err != nil {
			return nil, fmt.Errorf("reading %s: %w", record.Key, err)
		}
		c.evaluator = compileSpec(&c.spec)
		c = known.Put(id, c, 1)
	}
	all[id] = c
	return c, nil
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

// exempt has the kinds to which policies do not apply, so that wrong policies can always be
// repaired.
var exempt = map[schema.GroupResource]bool{
	{Group: admissionregistrationv1.GroupName, Resource: "validatingadmissionpolicies"}:       true,
	{Group: admissionregistrationv1.GroupName, Resource: "validatingadmissionpolicybindings"}: true,
	{Group: admissionregistrationv1.GroupName, Resource: "mutatingadmissionpolicies"}:         true,
	{Group: admissionregistrationv1.GroupName, Resource: "mutatingadmissionpolicybindings"}:   true,
}
