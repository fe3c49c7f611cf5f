package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// verdict is the testing.TB to which checks of package fakecluster report. It has only the methods that these checks
// call.
type verdict struct {
	testing.TB
	ctx      context.Context
	messages []string
}

// ended is the value with which Fatalf panics to end a check.
type ended struct{}

func (v *verdict) Helper()                  {}
func (v *verdict) Context() context.Context { return v.ctx }
func (v *verdict) Errorf(format string, args ...any) {
	v.messages = append(v.messages, strings.TrimPrefix(fmt.Sprintf(format, args...), "fakecluster: "))
}

func (v *verdict) Fatalf(format string, args ...any) {
	v.Errorf(format, args...)
	panic(ended{})
}

// run runs a check, and returns what it reports as an error.
func run(ctx context.Context, check func(testing.TB)) error {
	v := &verdict{ctx: ctx}
	func() {
		defer func() {
			if p := recover(); p != nil && p != (ended{}) {
				panic(p)
			}
		}()
		check(v)
	}()
	if len(v.messages) == 0 {
		return nil
	}
	return failed(errors.New(strings.Join(v.messages, "\n")))
}

// Settle is the request to wait until the cluster is quiet.
type Settle struct {
	Timeout *metav1.Duration `json:"timeout,omitempty" doc:"how long to wait, such as 30s; default: ten minutes"`
}

func settle(c call, s Settle) (none, error) {
	var ctx context.Context = c
	if s.Timeout != nil {
		limited, cancel := context.WithTimeout(c, s.Timeout.Duration)
		defer cancel()
		ctx = limited
	}
	return none{}, failed(c.cluster.Settle(ctx))
}

// WaitFor is the request to wait until an object meets a condition: one of hasCondition, cel and gone.
type WaitFor struct {
	Object       Object           `json:"object" doc:"the object, which need not exist yet"`
	HasCondition string           `json:"hasCondition,omitempty" doc:"a condition in the status of the object, such as Available"`
	Status       string           `json:"status,omitempty" doc:"of hasCondition; default: True"`
	CEL          string           `json:"cel,omitempty" doc:"an expression in CEL that must be true, such as object.spec.replicas == 3"`
	Gone         bool             `json:"gone,omitempty" doc:"the object does not exist"`
	Within       *metav1.Duration `json:"within,omitempty" doc:"how long to wait, such as 2m; default: 30s, in a bubble 1m"`
}

// condition returns the condition of package fakecluster.
func (w WaitFor) condition() (condition fakecluster.Condition, err error) {
	given := 0
	if w.HasCondition != "" {
		given++
		condition = fakecluster.HasCondition(w.HasCondition)
		if w.Status != "" {
			condition = fakecluster.HasCondition(w.HasCondition, metav1.ConditionStatus(w.Status))
		}
	}
	if w.CEL != "" {
		given++
		condition = fakecluster.CEL(w.CEL)
	}
	if w.Gone {
		given++
		condition = fakecluster.Gone()
	}
	switch {
	case given != 1:
		return condition, wrong(fmt.Errorf("give exactly one of hasCondition, cel and gone, not %d", given))
	case w.Status != "" && w.HasCondition == "":
		return condition, wrong(errors.New("status needs hasCondition: give both"))
	case w.Within != nil:
		condition = condition.Within(w.Within.Duration)
	}
	return condition, nil
}

// Found is the answer with an object, if it exists.
type Found struct {
	Object map[string]any `json:"object,omitempty" doc:"the object; absent if it does not exist"`
}

func waitFor(c call, w WaitFor) (found Found, err error) {
	condition, err := w.condition()
	if err != nil {
		return found, err
	}
	named, err := c.cluster.find(w.Object)
	if err != nil {
		return found, err
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(named.GetObjectKind().GroupVersionKind())
	u.SetNamespace(w.Object.Namespace)
	u.SetName(w.Object.Name)
	err = run(c, func(t testing.TB) { c.cluster.WaitFor(t, u, condition) })
	if err == nil && !w.Gone {
		found.Object = u.Object
	}
	return found, err
}

// Budget is a budget as in package fakecluster.
type Budget struct {
	Client           string `json:"client,omitempty" doc:"the name of the program, such as website-operator; default: all clients except the cluster's own controllers"`
	After            int64  `json:"after,omitempty" doc:"the number of the request after which requests count"`
	UpdatesPerObject int    `json:"updatesPerObject,omitempty" doc:"how often each object may be changed"`
	NoBareLists      bool   `json:"noBareLists,omitempty" doc:"forbids lists without a selector and without a limit"`
	NoRepeats        bool   `json:"noRepeats,omitempty" doc:"forbids writes that change nothing"`
	NoConflicts      bool   `json:"noConflicts,omitempty" doc:"forbids writes that are refused because another one came first"`
	AtRest           bool   `json:"atRest,omitempty" doc:"forbids all requests except watches and those for Leases"`
}

func checkBudget(c call, b Budget) (none, error) {
	return none{}, run(c, func(t testing.TB) { c.cluster.CheckBudget(t, fakecluster.Budget(b)) })
}

// Role is the request to compare the requests of a user with roles.
type Role struct {
	User  string   `json:"user" doc:"a user, or system:serviceaccount:NAMESPACE:NAME"`
	Paths []string `json:"paths" doc:"absolute paths of files and folders with the Roles and ClusterRoles"`
}

func checkRole(c call, r Role) (none, error) {
	if err := absolute(r.Paths...); err != nil {
		return none{}, err
	}
	return none{}, run(c, func(t testing.TB) { c.cluster.CheckRole(t, r.User, r.Paths...) })
}

func checkUnusedRules(c call, r Role) (none, error) {
	if err := absolute(r.Paths...); err != nil {
		return none{}, err
	}
	return none{}, run(c, func(t testing.TB) { c.cluster.CheckUnusedRules(t, r.User, r.Paths...) })
}
