package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// keeperFunc is a keeper with one key.
type keeperFunc func(ctx context.Context) error

func (keeperFunc) Name() Controller                { return "keeper" }
func (keeperFunc) Watches() []schema.GroupResource { return nil }
func (keeperFunc) Note(Change) ([]string, error)   { return nil, nil }
func (keeperFunc) All() ([]string, error)          { return []string{"a", "b"}, nil }

func (f keeperFunc) Keep(ctx context.Context, _ string) (time.Time, error) {
	return time.Time{}, f(ctx)
}

// telling is a server that is told of reactions that fail.
type telling struct {
	Server
	told []string
}

func (s *telling) Tell(reaction, name string, err error) {
	s.told = append(s.told, fmt.Sprint(reaction, " ", name, ": ", err))
}

// A task whose object is written by others each time ends, for example one whose write makes a webhook change the
// same object.
func TestATaskThatIsAlwaysOvertakenEnds(t *testing.T) {
	s, attempts := &telling{}, 0
	r := NewReactor(s, nil, keeperFunc(func(context.Context) error {
		attempts++
		return fmt.Errorf("written: %w", ErrConflict)
	}))
	defer r.Close()
	if err := r.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"keeper a: another write came first in each of 1000 attempts", "keeper b: another write came first in each of 1000 attempts"}
	if !slices.Equal(s.told, want) || attempts != 2000 {
		t.Errorf("%d attempts, told %q, want %q", attempts, s.told, want)
	}
}

// The tasks that follow a write end with the reactor, also between two attempts.
func TestTasksEndWithTheReactor(t *testing.T) {
	s, attempts := &telling{}, 0
	var r *Reactor
	r = NewReactor(s, nil, keeperFunc(func(context.Context) error {
		if attempts++; attempts == 3 {
			r.Close()
		}
		return ErrConflict
	}))
	if err := r.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if attempts != 3 || len(s.told) > 0 {
		t.Errorf("%d attempts, told %q", attempts, s.told)
	}
}
