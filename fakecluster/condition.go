package fakecluster

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/fakecluster/fakecluster/internal/statuscondition"
)

// Condition is what [Cluster.WaitFor] waits for. Make one with [HasCondition], [When], [CEL] or [Gone].
type Condition struct {
	limit time.Duration // 0: the usual one
	// prepare returns the check. An error is a mistake in the condition.
	prepare func() (check, error)
	// object is the type of the objects for the function of When; nil: any.
	object reflect.Type
}

// Unmet returns why an object does not meet the condition, or "" if it meets it. A nil object
// stands for an object that does not exist. Unmet returns an error if the condition itself is a
// mistake. It is for programs that have the object already; tests use [Cluster.WaitFor].
func (c Condition) Unmet(object *unstructured.Unstructured) (why string, err error) {
	if c.prepare == nil {
		return "", errors.New("the condition is empty; make one with HasCondition, When, CEL or Gone")
	}
	unmet, err := c.prepare()
	if err != nil {
		return "", err
	}
	if object == nil {
		return unmet(nil), nil
	}
	return unmet(object.Object), nil
}

// takes returns an error if the function of When takes another type than that of the object. It accepts any
// unstructured object.
func (c Condition) takes(obj runtime.Object) error {
	typ := reflect.TypeOf(obj)
	if _, any := obj.(runtime.Unstructured); any || obj == nil || c.object == nil || typ.AssignableTo(c.object) ||
		c.object == reflect.TypeFor[*unstructured.Unstructured]() {
		return nil
	}
	return fmt.Errorf("When: the function takes a %s, and the object is a %s", c.object, typ)
}

// check returns why an object is not yet as wanted, or nothing if it is. The object is nil while it
// does not exist.
type check func(object map[string]any) (unmet string)

// exists makes a check that also fails while the object does not exist.
func (c check) exists() check {
	return func(object map[string]any) string {
		if object == nil {
			return "the object does not exist"
		}
		return c(object)
	}
}

// Within sets how long WaitFor waits for the condition. In a testing/synctest bubble this is the bubble's
// time. 0 means the default: a minute in a bubble, where it takes no real time, and 30 seconds outside. A
// negative limit is an error of WaitFor.
func (c Condition) Within(limit time.Duration) Condition {
	c.limit = limit
	return c
}

// HasCondition is met when the object has a condition of the given type in status.conditions, with the given
// status. Without a status it is True. As with kubectl wait, a condition that was set for an older generation
// of the object does not count.
func HasCondition(conditionType string, status ...metav1.ConditionStatus) Condition {
	return Condition{prepare: func() (check, error) {
		want := metav1.ConditionTrue
		switch len(status) {
		case 0:
		case 1:
			want = status[0]
		default:
			return nil, fmt.Errorf("HasCondition: give one status, not %d", len(status))
		}
		if conditionType == "" {
			return nil, errors.New("HasCondition: the type of the condition is empty; write one such as Available")
		}
		return check(func(object map[string]any) string {
			return statuscondition.Unmet(object, conditionType, string(want))
		}).exists(), nil
	}}
}

// When is met when the function returns true for an object. T is the type of the object, such as
// *appsv1.Deployment or *unstructured.Unstructured, or an interface that the object of WaitFor
// implements. The function is called once for each state of the object, with a copy of its own, and never
// while the object does not exist.
func When[T runtime.Object](met func(T) bool) Condition {
	return Condition{object: reflect.TypeFor[T](), prepare: func() (check, error) {
		if met == nil {
			return nil, errors.New("When: the function is nil")
		}
		want := reflect.TypeFor[T]()
		if want.Kind() == reflect.Interface {
			want = reflect.TypeFor[*unstructured.Unstructured]()
			if !want.Implements(reflect.TypeFor[T]()) {
				return nil, fmt.Errorf("When: an unstructured object is not a %s; write a function for the type of the object", reflect.TypeFor[T]())
			}
		}
		if want.Kind() != reflect.Pointer {
			return nil, fmt.Errorf("When: %s is not a pointer; write a function for a pointer to the type", want)
		}
		return check(func(object map[string]any) string {
			obj := reflect.New(want.Elem()).Interface().(T)
			if err := fill(obj, object); err != nil {
				return err.Error()
			}
			if !met(obj) {
				return "the function of When returns false"
			}
			return ""
		}).exists(), nil
	}}
}

// CEL is met when an expression in CEL is true. The variable object is the object, as in the expressions
// of a ValidatingAdmissionPolicy, and Kubernetes' CEL libraries can be used. The expression is not met
// while it cannot be evaluated, for example because the object does not have a field yet.
func CEL(expression string) Condition {
	return Condition{prepare: sync.OnceValues(func() (check, error) {
		env, err := objectExpressions()
		if err != nil {
			return nil, fmt.Errorf("CEL: %w", err)
		}
		compiled, issues := env.Compile(expression)
		if issues.Err() != nil {
			return nil, fmt.Errorf("CEL: the expression is not valid; it is one such as object.spec.replicas == 2, where object is the object: %w", issues.Err())
		}
		if t := compiled.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
			return nil, fmt.Errorf("CEL: the expression %s is of type %s; write one that is true or false, such as object.spec.replicas == 2", expression, t)
		}
		program, err := env.Program(compiled)
		if err != nil {
			return nil, fmt.Errorf("CEL: %w", err)
		}
		return check(func(object map[string]any) string {
			value, _, err := program.Eval(map[string]any{"object": object})
			switch {
			case err != nil:
				return fmt.Sprintf("%s cannot be evaluated: %v", expression, err)
			case value != types.True:
				return fmt.Sprintf("%s is %v", expression, value.Value())
			}
			return ""
		}).exists(), nil
	})}
}

// objectExpressions returns the CEL environment of the condition CEL. It is made once in a process, because
// that takes a millisecond.
var objectExpressions = sync.OnceValues(func() (*cel.Env, error) {
	version := environment.DefaultCompatibilityVersion()
	set, err := environment.MustBaseEnvSet(version).Extend(environment.VersionedOptions{
		IntroducedVersion: version, EnvOptions: []cel.EnvOption{cel.Variable("object", cel.DynType)},
	})
	if err != nil {
		return nil, err
	}
	return set.Env(environment.StoredExpressions)
})

// Gone is met when an object does not exist. WaitFor then leaves the object of the test as it is.
func Gone() Condition {
	return Condition{prepare: func() (check, error) {
		return func(object map[string]any) string {
			if object == nil {
				return ""
			}
			u := unstructured.Unstructured{Object: object}
			switch finalizers := u.GetFinalizers(); {
			case u.GetDeletionTimestamp() == nil:
				return "the object exists, and nobody has deleted it"
			case len(finalizers) > 0:
				return fmt.Sprintf("the object is being deleted, and has the finalizers %q", finalizers)
			}
			return "the object is being deleted, and its grace period has not passed"
		}, nil
	}}
}

// fill sets an object to the content of another one.
func fill(obj runtime.Object, content map[string]any) error {
	if u, ok := obj.(runtime.Unstructured); ok {
		u.SetUnstructuredContent(runtime.DeepCopyJSON(content))
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, obj); err != nil {
		return fmt.Errorf("the object is not a %T: %w", obj, err)
	}
	return nil
}
