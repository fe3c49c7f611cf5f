package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/fakecluster/fakecluster/internal/description"
	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/rewrite"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// InitialState describes the cluster at the start of a session, for the scenario that is written.
type InitialState struct {
	Cluster syntax.ClusterOptions
	// Files are the manifests of the initial objects, as paths relative to the scenario's file.
	Files []string
}

// Scenario returns the session as the text of a scenario, and the number of its steps. Expectations leave out values
// that the server generates, or refer to the answer that had them first.
func (r *Recorder) Scenario(from InitialState) (text []byte, steps int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
	w := &r.recording
	name := "A session"
	if len(r.agents) > 0 {
		name += " of " + strings.Join(r.agents, ", ")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n", syntax.SchemaURL)
	if w.omitted > 0 {
		fmt.Fprintf(&b, "# The session was too long: it lacks %d further requests.\n", w.omitted)
	}
	b.WriteString(inLines([]entry{{"scenario", name}}, 0))
	if options := written(from.Cluster); len(options) > 0 {
		b.WriteString(inLines([]entry{{"cluster", options}}, 0))
	}
	if len(from.Files) > 0 {
		b.WriteString("setup:\n")
		for _, path := range from.Files {
			b.WriteString("- " + rewrite.InFlow(map[string]any{"file": path}, 0) + "\n")
		}
	}
	b.WriteString("steps:\n")
	for _, step := range w.steps {
		lines := inLines(step.entries(), 2)
		b.WriteString("- " + strings.TrimPrefix(lines, "  "))
	}
	return b.Bytes(), len(w.steps)
}

// written returns the options that are not the defaults, as the fields of a scenario. An empty list is written only for
// controllers, where it means that none acts.
func written(c syntax.ClusterOptions) map[string]any {
	options := map[string]any{}
	for _, o := range description.Options() {
		if o.Scenario == "" {
			continue
		}
		switch value := o.Value(&c.Cluster).(type) {
		case *bool:
			if *value {
				options[o.Scenario] = true
			}
		case *[]string:
			if len(*value) > 0 || *value != nil && value == &c.Controllers {
				items := make([]any, len(*value))
				for i, text := range *value {
					items[i] = text
				}
				options[o.Scenario] = items
			}
		}
	}
	return options
}

// entry is a field, in the order of a file.
type entry struct {
	name  string
	value any
}

// inLines writes fields one below the other.
func inLines(entries []entry, indent int) string {
	var b strings.Builder
	for _, e := range entries {
		margin := strings.Repeat(" ", indent)
		text := rewrite.InFlow(e.value, 0)
		_, isText := e.value.(string)
		if isText || indent+len(e.name)+len(text) > rewrite.MaxFlow {
			text = rewrite.InBlock(e.value, indent, 0, false)
		}
		if strings.HasPrefix(text, "\n") {
			fmt.Fprintf(&b, "%s%s:%s\n", margin, e.name, text)
		} else {
			fmt.Fprintf(&b, "%s%s: %s\n", margin, e.name, text)
		}
	}
	return b.String()
}

// Write writes the session to a new file as a scenario, and plays it once: values that differ then become !present. It
// returns the number of steps, and the failures that remain, for example because a controller of another process took
// part in the session.
func (r *Recorder) Write(ctx context.Context, path string, from InitialState) (steps int, failures []*player.Failure, err error) {
	text, steps := r.Scenario(from)
	if steps == 0 {
		return 0, nil, errors.New("no request to a resource was made: there is nothing to write")
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, nil, err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return 0, nil, err
	}
	loaded, err := syntax.Load(path)
	if err != nil {
		return 0, nil, err
	}
	_, err = rewrite.Rewrite(ctx, syntax.Reader{}, player.Player{}, loaded, true, func(r player.Result) {
		if r.Failure != nil {
			failures = append(failures, r.Failure)
		}
	})
	return steps, failures, err
}
