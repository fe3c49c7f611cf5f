package fakecluster_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// TestNilArgumentsAreErrors proves that an argument that is nil by mistake gets a sentence, and is not dereferenced.
func TestNilArgumentsAreErrors(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	newWith := func(o fakecluster.Option) error {
		c, err := fakecluster.New(fakecluster.InProcess(), o)
		if err == nil {
			err = c.Close()
		}
		return err
	}
	var none *appsv1.Deployment
	history := func(obj runtime.Object) error {
		_, err := c.History(obj)
		return err
	}
	objectAt := func(obj runtime.Object) error {
		_, err := c.ObjectAt(obj, 1)
		return err
	}
	unmet := func(condition fakecluster.Condition) error {
		_, err := condition.Unmet(nil)
		return err
	}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"an option":                  {newWith(nil), "option 2 is nil"},
		"WithObjects":                {newWith(fakecluster.WithObjects(nil)), "object 0: the object is nil"},
		"WithObjects, of a type":     {newWith(fakecluster.WithObjects(none)), "object 0: the object is nil"},
		"WithClock":                  {newWith(fakecluster.WithClock(nil)), "WithClock: the function is nil"},
		"WithSnapshot":               {newWith(fakecluster.WithSnapshot(nil)), "WithSnapshot: the reader is nil"},
		"WithService":                {newWith(fakecluster.WithService("a", "b", 80, nil)), "WithService: the handler for b.a.svc:80 is nil"},
		"WithConversion":             {newWith(fakecluster.WithConversion("a.b", nil)), "WithConversion: the handler for a.b is nil; give a ConversionFunc or an http.Handler"},
		"History":                    {history(nil), "the object is nil"},
		"History, of a type":         {history(none), "the object is nil"},
		"ObjectAt":                   {objectAt(nil), "the object is nil"},
		"ObjectAt, of a type":        {objectAt(none), "the object is nil"},
		"Snapshot":                   {c.Snapshot(nil), "Snapshot: the writer is nil"},
		"ServeWebhooks":              {c.ServeWebhooks(nil), "ServeWebhooks: the handler is nil"},
		"When":                       {unmet(fakecluster.When[*corev1.Pod](nil)), "When: the function is nil"},
		"a condition that is no one": {unmet(fakecluster.Condition{}), "the condition is empty; make one with HasCondition, When, CEL or Gone"},
	} {
		if test.err == nil || test.err.Error() != test.want {
			t.Errorf("%s: %v, want %s", name, test.err, test.want)
		}
	}
}
