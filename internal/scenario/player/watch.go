package player

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// watchSeconds ends a watch that gets fewer events than its step expects. One that
// gets them all never waits.
const watchSeconds = 5

// watch reads as many events as the step expects. The answer is the list of them.
func watch(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	t := targetOfReference(r.Argument)
	t.everywhere = true
	path, err := c.collection(ctx, &t)
	if err != nil {
		return t, Answer{}, err
	}
	r.Options = withDefault(r.Options, "timeoutSeconds", watchSeconds)
	watched := newCall(r, http.MethodGet, path, nil)
	watched.query.Set("watch", "true")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, err := c.open(ctx, watched)
	if err != nil {
		return t, Answer{}, err
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		a, err := watched.read(response)
		return t, a, err
	}
	events := []any{}
	for stream := json.NewDecoder(response.Body); len(events) < r.Events; {
		var text json.RawMessage
		switch err := stream.Decode(&text); {
		case errors.Is(err, io.EOF):
			return t, Answer{Code: response.StatusCode, Body: events, Warnings: []any{}, redaction: watched.redaction()}, nil
		case err != nil:
			return t, Answer{}, fmt.Errorf("GET %s: after %d events: %w", path, len(events), err)
		}
		var event any
		if err := utiljson.Unmarshal(text, &event); err != nil {
			return t, Answer{}, err
		}
		events = append(events, event)
	}
	return t, Answer{Code: response.StatusCode, Body: events, Warnings: []any{}, redaction: watched.redaction()}, nil
}
