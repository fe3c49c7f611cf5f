package play

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Shrinker makes histories that differ shorter, by playing parts of them again.
type Shrinker struct {
	Right, Other *Server
	// Attempts is how often it plays one history at most.
	Attempts int

	played int
}

// Shrink returns a history with the same difference that has as few steps, fields and parameters as it finds. The ID stands in the names of
// all objects; each attempt has another one.
func (s *Shrinker) Shrink(ctx context.Context, id string, d *Difference) *Difference {
	best, left := d, s.Attempts
	attempt := func(steps []Step) bool {
		if left--; left < 0 || ctx.Err() != nil {
			return false
		}
		found := s.play(ctx, id, steps)
		if found == nil || found.Signature() != d.Signature() {
			return false
		}
		best = found
		return true
	}
	if !attempt(append(slices.Clone(d.Before), d.Step)) {
		return d // by chance
	}
	for shorter := true; shorter; {
		shorter = false
		for i := len(best.Before) - 1; i >= 0; i-- {
			if i < len(best.Before) && attempt(append(slices.Delete(slices.Clone(best.Before), i, i+1), best.Step)) {
				shorter = true
			}
		}
	}
	for i := len(best.Before); i >= 0; i-- {
		steps := append(slices.Clone(best.Before), best.Step)
		if i >= len(steps) {
			continue
		}
		for progress := true; progress; {
			progress = false
			for _, smaller := range simpler(steps[i]) {
				changed := slices.Clone(steps)
				changed[i] = smaller
				if attempt(changed) {
					steps, progress = changed, true
					break
				}
			}
		}
	}
	return best
}

// play plays steps under a new ID, and takes away what they have made. The difference has the old ID.
func (s *Shrinker) play(ctx context.Context, id string, steps []Step) *Difference {
	s.played++
	fresh := fmt.Sprintf("s%ds", s.played)
	h := NewHistory(ctx, "", fresh, rand.New(rand.NewPCG(0, 0)), s.Right, s.Other)
	for _, step := range steps {
		h.Do(renamed(step, id, fresh))
	}
	found, _ := h.Result()
	h.cleanAll()
	if found == nil {
		return nil
	}
	original := &Difference{Step: renamed(found.Step, fresh, id), Diff: strings.ReplaceAll(found.Diff, fresh, id)}
	for _, step := range found.Before {
		original.Before = append(original.Before, renamed(step, fresh, id))
	}
	return original
}

// cleanAll deletes all objects that the history has seen.
func (h *History) cleanAll() {
	for i, s := range h.states {
		for path := range s.objects {
			for _, step := range []Step{
				{Method: "PATCH", Path: path, Type: MergePatch, Body: `{"metadata":{"finalizers":null}}`},
				{Method: "DELETE", Path: path + "?gracePeriodSeconds=0&propagationPolicy=Background"},
			} {
				if !fixed(path) {
					_, _ = h.states[i].do(h.ctx, step)
				}
			}
		}
	}
}

// fixed reports whether an object is there from the start, because no history has made it: its name has no ID.
func fixed(path string) bool { return !madeName.MatchString(path) }

var madeName = regexp.MustCompile(`\b(h[a-z]|s)\d+[sh]`)

func renamed(s Step, from, to string) Step {
	s.Path, s.Body, s.Object = strings.ReplaceAll(s.Path, from, to), strings.ReplaceAll(s.Body, from, to), strings.ReplaceAll(s.Object, from, to)
	return s
}

// simpler returns steps with one parameter, field or item less.
func simpler(s Step) []Step {
	var steps []Step
	path, query, _ := strings.Cut(s.Path, "?")
	words := strings.Split(query, "&")
	for i := range words {
		if query == "" || strings.HasPrefix(words[i], "watch=") || strings.HasPrefix(words[i], "timeoutSeconds=") {
			continue
		}
		less := s
		less.Path = path
		if rest := slices.Delete(slices.Clone(words), i, i+1); len(rest) > 0 {
			less.Path += "?" + strings.Join(rest, "&")
		}
		steps = append(steps, less)
	}
	var body any
	decoder := json.NewDecoder(strings.NewReader(bare.ReplaceAllString(s.Body, `"$0"`)))
	decoder.UseNumber()
	if decoder.Decode(&body) != nil {
		return steps
	}
	for _, pointer := range pointers(body, nil) {
		less := s
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if encoder.Encode(without(body, pointer)) != nil {
			continue
		}
		less.Body = quotedBare.ReplaceAllString(strings.TrimSpace(b.String()), "$1")
		steps = append(steps, less)
	}
	return steps
}

// bare are references that stand in JSON without quotes.
var (
	bare       = regexp.MustCompile(`\$\{managedFields\}|\$\{number:[^}"]*\}`)
	quotedBare = regexp.MustCompile(`"(\$\{managedFields\}|\$\{number:[^}"]*\})"`)
)

// pointers returns the paths of all values inside a value, those of the outer ones first.
func pointers(value any, prefix []string) [][]string {
	var found [][]string
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			found = append(found, append(slices.Clone(prefix), key))
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			found = append(found, pointers(value[key], append(slices.Clone(prefix), key))...)
		}
	case []any:
		for i, item := range value {
			path := append(slices.Clone(prefix), strconv.Itoa(i))
			found = append(append(found, path), pointers(item, path)...)
		}
	}
	return found
}

// without returns a copy of a value without what is at a path.
func without(value any, path []string) any {
	switch value := value.(type) {
	case map[string]any:
		less := map[string]any{}
		for key, v := range value {
			switch {
			case key != path[0]:
				less[key] = v
			case len(path) > 1:
				less[key] = without(v, path[1:])
			}
		}
		return less
	case []any:
		less := []any{}
		for i, v := range value {
			switch {
			case strconv.Itoa(i) != path[0]:
				less = append(less, v)
			case len(path) > 1:
				less = append(less, without(v, path[1:]))
			}
		}
		return less
	}
	return value
}
