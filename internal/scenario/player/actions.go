package player

import (
	"context"
	"maps"
	"net/http"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// action is what a step does: a row of the table actions.
type action struct {
	// do performs the step, usually by sending its request. It returns the answer, and the target for messages.
	// References in the request are resolved; values marked !absent remain.
	do func(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error)
	// reads: the step only reads, so it can be repeated on a cluster that answers late.
	reads bool
	// collection: a step without a name applies to all objects of a kind.
	collection bool
	// virtual: the step needs virtual time.
	virtual bool
	// inProcess: the step needs a cluster in this process.
	inProcess bool
}

// actions has one action for each verb of package syntax.
var actions = map[string]action{
	"create":           {do: create},
	"get":              {do: get, reads: true},
	"list":             {do: list, reads: true, collection: true},
	"watch":            {do: watch, reads: true, collection: true},
	"update":           {do: update},
	"patch":            {do: patch},
	"apply":            {do: apply},
	"delete":           {do: remove},
	"deletecollection": {do: removeAll, collection: true},
	"scale":            {do: scale},
	"status":           {do: patchStatus},
	"finalize":         {do: finalize},
	"evict":            {do: evict},
	"absent":           {do: checkAbsent, reads: true, collection: true},
	"count":            {do: count, reads: true, collection: true},
	"events":           {do: listEvents, reads: true},
	"log":              {do: write},
	"advance":          {do: advance, virtual: true},
	"settle":           {do: settle, virtual: true},
	"fault":            {do: inject, inProcess: true},
	"compact":          {do: compactHistory, inProcess: true},
	"calls":            {do: calls, reads: true},
	"webhook":          {do: setWebhook},
}

// actionOf returns the action of a step.
func actionOf(s syntax.Step) action { return actions[s.Verb.Name] }

// emptyAnswer returns the answer of a step that sends no request.
func emptyAnswer() Answer { return Answer{Code: http.StatusOK, Warnings: []any{}} }

func create(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	t := manifestTarget(r)
	path, err := c.collection(ctx, &t)
	if err != nil {
		return t, Answer{}, err
	}
	a, err := c.Send(ctx, newCall(r, http.MethodPost, path, content(r)))
	return t, a, err
}

func get(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	return c.toObject(ctx, r, http.MethodGet, nil)
}

func list(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	return c.toCollection(ctx, r, http.MethodGet, nil)
}

func update(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	t := manifestTarget(r)
	path, err := c.object(ctx, &t, r.Subresource)
	if err != nil {
		return t, Answer{}, err
	}
	if metadata, ok := r.Argument["metadata"].(map[string]any); ok {
		if _, given := metadata["resourceVersion"]; !given {
			current, err := c.Send(ctx, Call{Method: http.MethodGet, Path: path})
			if err != nil {
				return t, Answer{}, err
			}
			// If the object does not exist, the update itself returns the error.
			if object := current.metadata(); !current.IsError() && object != nil {
				metadata["resourceVersion"] = object["resourceVersion"]
			}
		}
	}
	a, err := c.Send(ctx, newCall(r, http.MethodPut, path, content(r)))
	return t, a, err
}

func patch(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	r.Headers = withDefault(r.Headers, "Content-Type", syntax.PatchTypes[r.PatchType])
	return c.toObject(ctx, r, http.MethodPatch, r.Body)
}

func apply(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	t := manifestTarget(r)
	path, err := c.object(ctx, &t, r.Subresource)
	if err != nil {
		return t, Answer{}, err
	}
	r.Options = withDefault(r.Options, "fieldManager", userAgent)
	r.Headers = withDefault(r.Headers, "Content-Type", string(types.ApplyYAMLPatchType))
	a, err := c.Send(ctx, newCall(r, http.MethodPatch, path, content(r)))
	return t, a, err
}

func remove(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	return c.toObject(ctx, r, http.MethodDelete, r.Body)
}

func removeAll(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	return c.toCollection(ctx, r, http.MethodDelete, r.Body)
}

func calls(_ context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	w := c.webhooks.webhookOf(r.Argument)
	return target{path: w.Name}, Answer{Code: http.StatusOK, Body: w.read(), Warnings: []any{}}, nil
}

func setWebhook(_ context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	w := c.webhooks.webhookOf(r.Argument)
	w.setReply(r.Argument["reply"].(syntax.WebhookReply))
	return target{path: w.Name}, emptyAnswer(), nil
}

// withDefault returns fields with a value for name, if they do not have one.
func withDefault(fields map[string]any, name string, value any) map[string]any {
	if _, given := fields[name]; given {
		return fields
	}
	with := map[string]any{name: value}
	maps.Copy(with, fields)
	return with
}
