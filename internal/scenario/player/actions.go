package player

import (
	"context"
	"maps"
	"net/http"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// actions are what the steps do, by verb: each sends the request that the step is about. The request is
// resolved; !absent may still stand in it. advance and settle are not here: see playback.step.
var actions = map[string]func(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error){
	"create":           create,
	"get":              get,
	"list":             list,
	"watch":            watch,
	"update":           update,
	"patch":            patch,
	"apply":            apply,
	"delete":           remove,
	"deletecollection": removeAll,
	"scale":            scale,
	"status":           patchStatus,
	"finalize":         finalize,
	"evict":            evict,
	"absent":           checkAbsent,
	"count":            count,
	"events":           listEvents,
	"log":              write,
	"fault":            inject,
	"compact":          compactHistory,
	"calls":            calls,
	"webhook":          setWebhook,
}

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
		if _, said := metadata["resourceVersion"]; !said {
			current, err := c.Send(ctx, Call{Method: http.MethodGet, Path: path})
			if err != nil {
				return t, Answer{}, err
			}
			// An object that is not there has no version to send: the answer to
			// the update itself will say so.
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
	w := c.webhooks.of(r.Argument)
	return target{path: w.Name}, Answer{Code: http.StatusOK, Body: w.read(), Warnings: []any{}}, nil
}

func setWebhook(_ context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	w := c.webhooks.of(r.Argument)
	w.setReply(r.Argument["reply"].(syntax.WebhookReply))
	return target{path: w.Name}, Answer{Code: http.StatusOK, Warnings: []any{}}, nil
}

// withDefault returns fields with a value for name, if they say nothing about it.
func withDefault(fields map[string]any, name string, value any) map[string]any {
	if _, said := fields[name]; said {
		return fields
	}
	with := map[string]any{name: value}
	maps.Copy(with, fields)
	return with
}
