package faultinjection

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// AnySubresource is the Subresource of a fault that strikes objects and all their subresources.
const AnySubresource = "*"

// Fault says what goes wrong with which requests.
type Fault struct {
	// Verb is a verb of RBAC. Empty: each that the effect can strike.
	Verb string
	// Resource is the plural name, with the group after a dot unless it is the core group:
	// "pods", "deployments.apps". Empty: every resource.
	Resource string
	// Subresource is a subresource; empty: the object itself; AnySubresource: both.
	Subresource string
	// Namespace, Name and User are as the request has them; empty: any.
	Namespace, Name, User string
	// UserAgent is what the user agent begins with.
	UserAgent string

	// After is how many requests that match are left alone first.
	After int
	// Times is how many requests are struck at most; 0: all.
	Times int
	// Probability is that with which a request that matches is struck; 0: 1.
	Probability float64
	// Optional says that the fault need not strike.
	Optional bool

	// Latency is how long a request waits before anything else happens.
	Latency time.Duration
	// Effect is what happens then. The zero value: nothing.
	Effect Effect
}

// The verbs of requests for resources.
var (
	writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}
	readVerbs  = []string{"get", "list"}
	allVerbs   = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
)

// group returns the resource as the API names it.
func (f *Fault) group() schema.GroupResource { return schema.ParseGroupResource(f.Resource) }

// check returns an error for fields that contradict each other.
func (f *Fault) check() error {
	switch {
	case f.Effect.kind == none && f.Latency == 0:
		return errors.New("it has neither an effect nor a latency")
	case f.Effect.invalid != nil:
		return f.Effect.invalid
	case f.Latency < 0:
		return fmt.Errorf("the latency %v is negative", f.Latency)
	case f.After < 0:
		//lint:ignore ST1005 After is the name of a field
		return fmt.Errorf("After is %d: it cannot be negative", f.After)
	case f.Times < 0:
		//lint:ignore ST1005 Times is the name of a field
		return fmt.Errorf("Times is %d: it cannot be negative", f.Times)
	case f.Probability < 0 || f.Probability > 1 || f.Probability != f.Probability:
		return fmt.Errorf("the probability %v is not between 0 and 1", f.Probability)
	case f.Verb != "" && !slices.Contains(allVerbs, f.Verb):
		return fmt.Errorf("there is no verb %q; there are %s", f.Verb, strings.Join(allVerbs, ", "))
	case f.Verb != "" && !slices.Contains(f.Effect.verbs(), f.Verb):
		return fmt.Errorf("%s and the verb %s contradict each other: it strikes %s", f.Effect, f.Verb, strings.Join(f.Effect.verbs(), ", "))
	case f.Name != "" && f.Verb == "deletecollection":
		return errors.New("the verb deletecollection and a Name contradict each other: the request names no object")
	case f.Latency > 0 && (f.Effect.strikesWatches() || f.Effect.strikesCalls()):
		return fmt.Errorf("%s and a latency contradict each other: the latency is that of a request", f.Effect)
	case f.Effect.kind == conversion && (f.Verb != "" || f.Subresource != "" || f.Namespace != "" || f.Name != "" || f.User != "" || f.UserAgent != ""):
		return errors.New("FailConversion strikes all conversions of a Resource, whoever asks for them: Verb, Subresource, Namespace, Name, User and UserAgent have to be empty")
	case f.Effect.strikesWatches() && f.Subresource != "":
		return fmt.Errorf("%s and a subresource contradict each other: subresources cannot be watched", f.Effect)
	}
	return nil
}

// String says in one line what the fault does.
func (f Fault) String() string {
	var b strings.Builder
	if f.Effect.kind == conversion {
		b.WriteString("conversions of ")
	} else {
		b.WriteString(orAny(f.Verb))
		b.WriteByte(' ')
	}
	if f.Resource == "" {
		b.WriteString("any resource")
	} else {
		b.WriteString(f.Resource)
	}
	if f.Subresource != "" {
		b.WriteString("/" + f.Subresource)
	}
	for _, of := range []struct{ what, is string }{
		{"in namespace", f.Namespace}, {"of", f.Name}, {"by user", f.User}, {"with user agent", f.UserAgent},
	} {
		if of.is != "" {
			fmt.Fprintf(&b, " %s %s", of.what, of.is)
		}
	}
	b.WriteString(": ")
	switch {
	case f.Effect.kind == none:
		fmt.Fprintf(&b, "latency of %v", f.Latency)
	case f.Latency > 0:
		fmt.Fprintf(&b, "latency of %v, then %s", f.Latency, f.Effect)
	default:
		b.WriteString(f.Effect.String())
	}
	var how []string
	if f.After > 0 {
		how = append(how, fmt.Sprintf("after %d requests", f.After))
	}
	if f.Probability > 0 && f.Probability < 1 {
		how = append(how, fmt.Sprintf("with probability %v", f.Probability))
	}
	if f.Times > 0 {
		how = append(how, fmt.Sprintf("at most %d times", f.Times))
	}
	if len(how) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(how, ", "))
	}
	return b.String()
}

func orAny(text string) string {
	if text == "" {
		return "any verb of"
	}
	return text
}

// Request is a request as faults see it.
type Request struct {
	Verb, Group, Resource, Subresource, Namespace, Name, User, UserAgent string
	// DryRun says that nothing will be committed.
	DryRun bool
	// DryRunInBody returns the same of a request whose body says so, or may; nil: DryRun is right. It
	// is called only if a fault needs to know, and before anybody else reads the body.
	DryRunInBody func() bool
	// NameInBody returns the name in the body of a create; nil: there is none. It is called
	// only if a fault needs the name, and before anybody else reads the body.
	NameInBody func() string
}

// criterion is one field of a fault that a request must match.
type criterion struct{ field, wanted, is string }

// differences returns the criteria that a request does not meet; at most two, because nobody
// wants to know more.
func (f *Fault) differences(r *Request) (missed []criterion) {
	miss := func(field, wanted, is string) bool {
		missed = append(missed, criterion{field, wanted, is})
		return len(missed) > 1
	}
	if verbs := f.Effect.verbs(); f.Verb == "" && !slices.Contains(verbs, r.Verb) || f.Verb != "" && f.Verb != r.Verb {
		if miss("Verb", f.Verb, r.Verb) {
			return missed
		}
	}
	if f.Resource != "" {
		if is := (schema.GroupResource{Group: r.Group, Resource: r.Resource}); f.group() != is && miss("Resource", f.Resource, is.String()) {
			return missed
		}
	}
	if f.Subresource != AnySubresource && f.Subresource != r.Subresource && miss("Subresource", f.Subresource, r.Subresource) {
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
	if f.Name != "" {
		if r.Name != f.Name {
			miss("Name", f.Name, r.Name)
		}
	}
	if r.DryRun && f.Effect.commits() {
		miss("dryRun", "", "All")
	}
	return missed
}
