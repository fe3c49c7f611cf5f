package fakecluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/internal/redact"
	"github.com/fakecluster/fakecluster/internal/server/console"
)

// How long WaitFor waits by default: by the clock of a bubble, and by the real one.
const (
	waitInBubble = time.Minute
	waitOutside  = 30 * time.Second
)

// WaitFor returns when an object meets a condition, and leaves in obj the state that met it. Only its
// kind, namespace and name are read; the object need not exist yet. As with [WithObjects], a typed object
// need not name its kind if its type is in a scheme, and an object without a namespace is in "default".
//
//	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
//	c.WaitFor(t, deployment, fakecluster.HasCondition("Available"))
//	c.WaitFor(t, deployment, fakecluster.CEL("object.spec.replicas == 3"))
//	c.WaitFor(t, deployment, fakecluster.When(func(d *appsv1.Deployment) bool { return d.Status.ReadyReplicas == 3 }))
//	c.WaitFor(t, deployment, fakecluster.Gone().Within(time.Hour))
//
// It watches the object: it does not poll, and a state that lasts only for a moment is not missed. The
// watch is one of the cluster itself, which faults and holds do not affect and which
// [Cluster.Requests] does not list. It works inside and outside of a testing/synctest bubble.
//
// If the condition is not met in time, or is itself a mistake, the test fails with t.Fatal. The
// message contains the reason and the object.
func (c *Cluster) WaitFor(t testing.TB, obj runtime.Object, condition Condition) {
	t.Helper()
	tb := c.TB(t)
	if err := c.waitFor(t.Context(), obj, condition); err != nil {
		tb.Fatalf("fakecluster: WaitFor: %v", err)
	}
}

func (c *Cluster) waitFor(ctx context.Context, obj runtime.Object, condition Condition) error {
	if condition.prepare == nil {
		return errors.New("the condition is empty; make one with HasCondition, When, CEL or Gone")
	}
	unmet, err := condition.prepare()
	if err != nil {
		return err
	}
	if err := condition.takes(obj); err != nil {
		return err
	}
	kind, namespace, name, err := c.settings.nameOf(obj)
	if err != nil {
		return err
	}
	limit := condition.limit
	switch {
	case limit < 0:
		return fmt.Errorf("Within: the time must not be negative, and is %v", limit)
	case limit > 0:
	case bubble.Inside():
		limit = waitInBubble
	default:
		limit = waitOutside
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	var last map[string]any
	var why string
	states := 0
	err = console.FollowObject(ctx, c.server, kind, namespace, name, func(object map[string]any) bool {
		states++
		last, why = object, unmet(object)
		return why == ""
	})
	object := console.ObjectName(c.server, kind, namespace, name)
	switch {
	case err == nil && last == nil:
		return nil
	case err == nil:
		if err := fill(obj, last); err != nil {
			return fmt.Errorf("%s: %w", object, err)
		}
		return nil
	case why == "": // the object cannot be read
		return fmt.Errorf("%s: %w", object, err)
	case !errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: the context of the test ended before the condition was met: %s: %w", object, why, err)
	}
	return errors.New(printable.Text(fmt.Sprintf("%s: not met after %s: %s%s%s", object, durationText(limit), why, changesText(states-1, last != nil), shown(last))))
}

// durationText returns a duration without the units that are zero at its end: 1h, and not 1h0m0s.
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// changesText describes how often an object changed while WaitFor waited.
func changesText(changes int, exists bool) string {
	switch {
	case changes == 0 && !exists:
		return "; it was not created meanwhile"
	case changes == 0:
		return "; it did not change meanwhile"
	case changes == 1:
		return "; it changed once meanwhile"
	}
	return fmt.Sprintf("; it changed %d times meanwhile", changes)
}

// shown returns an object as YAML, below a message.
func shown(object map[string]any) string {
	if object == nil {
		return ""
	}
	object = runtime.DeepCopyJSON(object)
	delete(object["metadata"].(map[string]any), "managedFields")
	text, err := yaml.Marshal(redact.Value(object))
	if err != nil {
		return ""
	}
	return "\n\t" + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n\t")
}
