package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"
)

// Settle returns when the cluster is quiet: no request is in flight, every watch has delivered all its
// events, and no request has come for 100 ms (in a bubble: one second; with workloads: two seconds). It fails
// if an object is written endlessly, if ctx ends, or after ten minutes.
func (c *Cluster) Settle(ctx context.Context) error {
	err := c.doWith(ctx, "POST", "/settle", struct{}{}, nil)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("the cluster is not quiet: %w", ctx.Err())
	}
	return err
}

// Condition is what [Cluster.WaitFor] waits for. Make one with [HasCondition], [CEL] or [Gone].
type Condition struct {
	fields map[string]any
	err    error // a mistake in the condition
}

// HasCondition is met when the object has a condition of the given type in status.conditions, with the given
// status. Without a status it is True. More than one status is an error of WaitFor.
func HasCondition(conditionType string, status ...string) Condition {
	fields := map[string]any{"hasCondition": conditionType}
	if len(status) > 1 {
		return Condition{err: fmt.Errorf("HasCondition: give one status, not %d", len(status))}
	}
	if len(status) > 0 {
		fields["status"] = status[0]
	}
	return Condition{fields: fields}
}

// CEL is met when an expression in CEL is true, such as "object.spec.replicas == 3".
func CEL(expression string) Condition { return Condition{fields: map[string]any{"cel": expression}} }

// Gone is met when an object does not exist.
func Gone() Condition { return Condition{fields: map[string]any{"gone": true}} }

// MarshalJSON returns the condition as the control API of the host has it. It fails for a condition that was
// made in a wrong way.
func (c Condition) MarshalJSON() ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	return json.Marshal(c.fields)
}

// Within sets how long WaitFor waits for the condition. The default is a minute in a testing/synctest bubble,
// where it takes no real time, and 30 seconds outside.
func (c Condition) Within(limit time.Duration) Condition {
	fields := map[string]any{}
	for name, value := range c.fields {
		fields[name] = value
	}
	fields["within"] = limit.String()
	return Condition{fields, c.err}
}

// WaitFor returns when an object meets a condition, and leaves in obj the state that met it, if obj is a pointer. Only its kind,
// namespace and name are read; a typed object need not name its kind, and one without a namespace is in "default". It fails the test
// with t.Fatal if the condition is not met in time.
func (c *Cluster) WaitFor(t testing.TB, obj any, condition Condition) {
	t.Helper()
	tb := c.TB(t)
	ref, err := refOf(obj)
	if condition.err != nil {
		err = condition.err
	}
	var found struct{ Object json.RawMessage }
	if err == nil {
		body := map[string]any{"object": ref.body()}
		for name, value := range condition.fields {
			body[name] = value
		}
		err = c.do("POST", "/wait", body, &found)
	}
	if err == nil && len(found.Object) > 0 {
		err = fill(obj, found.Object)
	}
	if err != nil {
		tb.Fatalf("fakecluster: %v", err)
	}
}

// Budget limits the requests of a client. The zero value of a field allows everything.
type Budget struct {
	// Client is the name of the program, which is the user agent up to the first slash. Empty: all clients
	// except the cluster's own controllers.
	Client string `json:"client,omitempty"`
	// After is the Number of a request: only later requests count. 0: all count.
	After int64 `json:"after,omitempty"`
	// UpdatesPerObject is how often each object may be changed; 0: any number of times.
	UpdatesPerObject int `json:"updatesPerObject,omitempty"`
	// NoBareLists forbids lists without a selector and without a limit.
	NoBareLists bool `json:"noBareLists,omitempty"`
	// NoRepeats forbids writes that change nothing.
	NoRepeats bool `json:"noRepeats,omitempty"`
	// NoConflicts forbids writes that are answered with 409 Conflict, because another write came first.
	NoConflicts bool `json:"noConflicts,omitempty"`
	// AtRest forbids all requests except watches and those for Leases.
	AtRest bool `json:"atRest,omitempty"`
}

// CheckBudget fails the test, with t.Errorf, if a client has exceeded a budget.
func (c *Cluster) CheckBudget(t testing.TB, b Budget) {
	t.Helper()
	if err := c.do("POST", "/check/budget", b, nil); err != nil {
		c.TB(t).Errorf("fakecluster: %v", err)
	}
}

// CheckRole fails the test, with t.Errorf, if the Roles and ClusterRoles in manifest files and folders do not allow all requests of the
// user. The message contains the missing rules.
func (c *Cluster) CheckRole(t testing.TB, user string, paths ...string) {
	t.Helper()
	c.checkRole(t, "/check/role", user, paths)
}

// CheckUnusedRules fails the test, with t.Errorf, if the Roles and ClusterRoles in manifest files and folders have rules that the user
// has never needed.
func (c *Cluster) CheckUnusedRules(t testing.TB, user string, paths ...string) {
	t.Helper()
	c.checkRole(t, "/check/unused-rules", user, paths)
}

func (c *Cluster) checkRole(t testing.TB, path, user string, paths []string) {
	t.Helper()
	paths, err := absolute(paths)
	if err == nil {
		err = c.do("POST", path, map[string]any{"user": user, "paths": paths}, nil)
	}
	if err != nil {
		c.TB(t).Errorf("fakecluster: %v", err)
	}
}
