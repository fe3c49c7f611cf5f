package faultinjection

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/faults"
)

// groupOf returns the group and resource of a fault.
func groupOf(f *faults.Fault) schema.GroupResource { return schema.ParseGroupResource(f.Resource) }

// check returns an error for invalid fields, and for fields that contradict each other.
func check(f *faults.Fault) error {
	effect, ok := effects[f.Effect.Type]
	if !ok {
		types := slices.Sorted(maps.Keys(effects))[1:] // without the zero type
		return fmt.Errorf("there is no effect %q; the effects are %s", f.Effect.Type, strings.Trim(fmt.Sprint(types), "[]"))
	}
	if effect.check != nil {
		if err := effect.check(f.Effect); err != nil {
			return err
		}
	}
	switch {
	case f.Effect.Type == "" && f.Latency == 0:
		return errors.New("the fault has neither an Effect nor a Latency: set one")
	case f.Latency < 0:
		//lint:ignore ST1005 Latency is the name of a field
		return fmt.Errorf("Latency is %v: it must not be negative", f.Latency)
	case f.After < 0:
		//lint:ignore ST1005 After is the name of a field
		return fmt.Errorf("After is %d: it must not be negative", f.After)
	case f.Times < 0:
		//lint:ignore ST1005 Times is the name of a field
		return fmt.Errorf("Times is %d: it must not be negative", f.Times)
	case f.Probability < 0 || f.Probability > 1 || f.Probability != f.Probability:
		//lint:ignore ST1005 Probability is the name of a field
		return fmt.Errorf("Probability is %v: it must be between 0 and 1", f.Probability)
	case f.Verb != "" && !slices.Contains(allVerbs, f.Verb):
		return fmt.Errorf("there is no verb %q; there are %s", f.Verb, strings.Join(allVerbs, ", "))
	case f.Verb != "" && !slices.Contains(effect.verbs, f.Verb):
		return fmt.Errorf("%s cannot strike the verb %s; it strikes %s", f.Effect, f.Verb, strings.Join(effect.verbs, ", "))
	case f.Name != "" && f.Verb == "deletecollection":
		return errors.New("a fault with the verb deletecollection cannot have a Name: the request does not name an object")
	case f.Latency > 0 && effect.strikes != requests:
		return fmt.Errorf("a fault with %s cannot have a Latency, which delays requests", f.Effect)
	case f.Effect.Type == faults.EffectFailConversion && (f.Verb != "" || f.Subresource != "" || f.Namespace != "" || f.Name != "" || f.User != "" || f.UserAgent != "" || f.AuditID != ""):
		return errors.New("FailConversion strikes all conversions of a Resource, for any request: leave Verb, Subresource, Namespace, Name, User, UserAgent and AuditID empty")
	case effect.strikes == watches && f.Subresource != "":
		return fmt.Errorf("a fault with %s cannot have a Subresource: subresources cannot be watched", f.Effect)
	}
	return nil
}

// Request has the properties of a request that faults can match.
type Request struct {
	Verb, Group, Resource, Subresource, Namespace, Name, User, UserAgent, AuditID string
	// DryRun: the request is a dry run.
	DryRun bool
	// DryRunInBody reports whether the body makes the request a dry run; nil: DryRun is right. It is called only if a
	// fault needs it, before anything else reads the body.
	DryRunInBody func() bool
	// NameInBody returns the name in the body of a create; nil: there is none. It is called only if a fault needs it,
	// before anything else reads the body.
	NameInBody func() string
}

// criterion is one field of a fault that a request must match.
type criterion struct{ field, wanted, found string }

// differences returns the criteria that a request does not meet, at most two.
func differences(f *faults.Fault, r *Request) (missed []criterion) {
	miss := func(field, wanted, found string) bool {
		missed = append(missed, criterion{field, wanted, found})
		return len(missed) > 1
	}
	if verbs := effectOf(f).verbs; f.Verb == "" && !slices.Contains(verbs, r.Verb) || f.Verb != "" && f.Verb != r.Verb {
		if miss("Verb", f.Verb, r.Verb) {
			return missed
		}
	}
	if f.Resource != "" {
		if resource := (schema.GroupResource{Group: r.Group, Resource: r.Resource}); groupOf(f) != resource && miss("Resource", f.Resource, resource.String()) {
			return missed
		}
	}
	if f.Subresource != faults.AnySubresource && f.Subresource != r.Subresource && miss("Subresource", f.Subresource, r.Subresource) {
		return missed
	}
	if f.Namespace != "" && f.Namespace != r.Namespace && miss("Namespace", f.Namespace, r.Namespace) {
		return missed
	}
	if f.User != "" && f.User != r.User && miss("User", f.User, r.User) {
		return missed
	}
	if !strings.HasPrefix(r.UserAgent, f.UserAgent) && miss("UserAgent", f.UserAgent, r.UserAgent) {
		return missed
	}
	if f.AuditID != "" && f.AuditID != r.AuditID && miss("AuditID", f.AuditID, r.AuditID) {
		return missed
	}
	if f.Name != "" {
		if r.Name != f.Name {
			miss("Name", f.Name, r.Name)
		}
	}
	if r.DryRun && commits(f) {
		miss("dryRun", "", "All")
	}
	return missed
}
