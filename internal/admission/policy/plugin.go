package policy

import (
	"encoding/json"
	"fmt"

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

// validatingPolicy is a policy with its bindings, sorted by name.
type validatingPolicy struct {
	*admissionregistrationv1.ValidatingAdmissionPolicy
	*validatingEvaluator
	bindings []validatingBinding
}

type validatingBinding struct {
	*admissionregistrationv1.ValidatingAdmissionPolicyBinding
	match *match // nil: the binding matches everything that the policy matches
}

// mutatingPolicy is a policy with its bindings, sorted by name.
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

// compiledSpecs has compiled specs by the hash of their JSON.
type compiledSpecs[S, E any] map[cache.ID]*compiled[S, E]

// compiledValidating and compiledMutating cache up to 256 compiled specs each, by the hash of their JSON, for all
// clusters of the process.
var (
	compiledValidating = cache.New[cache.ID, *compiled[admissionregistrationv1.ValidatingAdmissionPolicySpec, *validatingEvaluator]](256)
	compiledMutating   = cache.New[cache.ID, *compiled[admissionregistrationv1.MutatingAdmissionPolicySpec, *mutatingEvaluator]](256)
)

// New returns the plugin for the stored ValidatingAdmissionPolicies, their bindings, MutatingAdmissionPolicies and their
// bindings. It returns nil if no policy has a binding.
func New(replaced admission.Plugin, records ...[]store.Record) (admission.Plugin, error) {
	former, ok := replaced.(*plugin)
	if !ok {
		former = &plugin{}
	}
	p := &plugin{}
	var err error
	p.validating, p.validatingSpecs, err = readPolicies(records[0], records[1], former.validatingSpecs, compiledValidating, compileValidating, newValidatingPolicy)
	if err != nil {
		return nil, err
	}
	p.mutating, p.mutatingSpecs, err = readPolicies(records[2], records[3], former.mutatingSpecs, compiledMutating, compileMutating, newMutatingPolicy)
	if err != nil || len(p.validating) == 0 && len(p.mutating) == 0 {
		return nil, err
	}
	return p, nil
}

// readPolicies returns the policies with a binding, in the order of the records, and the compiled specs of all policies.
// newPolicy returns a policy with its bindings among the given ones.
func readPolicies[S, E, B, P any](policies, bindings []store.Record, former compiledSpecs[S, E], shared *cache.Cache[cache.ID, *compiled[S, E]],
	compileSpec func(*S) E, newPolicy func(name string, c *compiled[S, E], bindings []*B) (p P, bound bool)) ([]P, compiledSpecs[S, E], error) {
	decoded := make([]*B, len(bindings))
	for i, record := range bindings {
		decoded[i] = new(B)
		if err := json.Unmarshal([]byte(record.Value), decoded[i]); err != nil {
			return nil, nil, fmt.Errorf("reading %s: %w", record.Key, err)
		}
	}
	var found []P
	specs := compiledSpecs[S, E]{}
	for _, record := range policies {
		c, err := specs.compile(record, former, shared, compileSpec)
		if err != nil {
			return nil, nil, err
		}
		if p, bound := newPolicy(gjson.Get(record.Value, "metadata.name").Str, c, decoded); bound {
			found = append(found, p)
		}
	}
	return found, specs, nil
}

func newValidatingPolicy(name string, c *compiled[admissionregistrationv1.ValidatingAdmissionPolicySpec, *validatingEvaluator],
	bindings []*admissionregistrationv1.ValidatingAdmissionPolicyBinding) (p validatingPolicy, bound bool) {
	p.ValidatingAdmissionPolicy = &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: c.spec}
	p.validatingEvaluator = c.evaluator
	for _, b := range bindings {
		if b.Spec.PolicyName == name {
			p.bindings = append(p.bindings, validatingBinding{b, bindingMatch(b.Spec.MatchResources)})
		}
	}
	return p, len(p.bindings) > 0
}

func newMutatingPolicy(name string, c *compiled[admissionregistrationv1.MutatingAdmissionPolicySpec, *mutatingEvaluator],
	bindings []*admissionregistrationv1.MutatingAdmissionPolicyBinding) (p mutatingPolicy, bound bool) {
	p.MutatingAdmissionPolicy = &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: c.spec}
	p.mutatingEvaluator = c.evaluator
	for _, b := range bindings {
		if b.Spec.PolicyName == name {
			p.bindings = append(p.bindings, mutatingBinding{b, bindingMatch(b.Spec.MatchResources)})
		}
	}
	return p, len(p.bindings) > 0
}

func bindingMatch(m *admissionregistrationv1.MatchResources) *match {
	if m == nil {
		return nil
	}
	return newMatch(m)
}

// compile adds the compiled spec of a stored policy. It takes the spec from the former plugin or the cache, if they have
// it.
func (specs compiledSpecs[S, E]) compile(record store.Record, former compiledSpecs[S, E], shared *cache.Cache[cache.ID, *compiled[S, E]],
	compileSpec func(*S) E) (*compiled[S, E], error) {
	text := gjson.Get(record.Value, "spec").Raw
	id := cache.NewID(text)
	c, ok := former[id]
	if !ok {
		var err error
		c, err = shared.Make(id, 1, func() (*compiled[S, E], error) {
			c := &compiled[S, E]{}
			if err := json.Unmarshal([]byte(text), &c.spec); err != nil {
				return nil, err
			}
			c.evaluator = compileSpec(&c.spec)
			return c, nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", record.Key, err)
		}
	}
	specs[id] = c
	return c, nil
}

// exempt has the kinds to which policies do not apply, so that a wrong policy can always be fixed.
var exempt = map[schema.GroupResource]bool{
	{Group: admissionregistrationv1.GroupName, Resource: "validatingadmissionpolicies"}:       true,
	{Group: admissionregistrationv1.GroupName, Resource: "validatingadmissionpolicybindings"}: true,
	{Group: admissionregistrationv1.GroupName, Resource: "mutatingadmissionpolicies"}:         true,
	{Group: admissionregistrationv1.GroupName, Resource: "mutatingadmissionpolicybindings"}:   true,
}
