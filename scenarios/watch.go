package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// watchSeconds ends a watch that gets fewer events than its step expects. One that
// gets them all never waits.
const watchSeconds = 5

// watch reads as many events as the step expects. The answer is the list of them.
func watch(ctx context.Context, c *client, r request) (target, answer, error) {
	t := targetOfReference(r.argument)
	t.all = true
	path, err := c.collection(ctx, &t)
	if err != nil {
		return t, answer{}, err
	}
	r.options = withDefault(r.options, "timeoutSeconds", watchSeconds)
	watched := r.call(http.MethodGet, path, nil)
	watched.query.Set("watch", "true")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, err := c.open(ctx, watched)
	if err != nil {
		return t, answer{}, err
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		a, err := watched.read(response)
		return t, a, err
	}
	events := []any{}
	for stream := json.NewDecoder(response.Body); len(events) < r.events; {
		var text json.RawMessage
		switch err := stream.Decode(&text); {
		case errors.Is(err, io.EOF):
			return t, answer{code: response.StatusCode, body: events, warnings: []any{}, about: watched.about()}, nil
		case err != nil:
			return t, answer{}, fmt.Errorf("GET %s: after %d events: %w", path, len(events), err)
		}
		var event any
		if err := utiljson.Unmarshal(text, &event); err != nil {
			return t, answer{}, err
		}
		events = append(events, event)
	}
	return t, answer{code: response.StatusCode, body: events, warnings: []any{}, about: watched.about()}, nil
}
