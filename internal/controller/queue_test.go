package controller

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
)

// clock is a cluster that has the time, and nothing else.
type clock struct{ admission.Cluster }

func (clock) Now() time.Time { return time.Now() }

// reporting returns controllers, and what they report.
func reporting(controllers ...*controller) (cs *Controllers, reported *[]string) {
	reported = &[]string{}
	cs = &Controllers{
		server: &Server{Cluster: clock{}, Report: func(controller, key string, err error) {
			*reported = append(*reported, fmt.Sprint(controller, " ", key, ": ", err))
		}},
		byName: map[Name]*controller{}, following: map[schema.GroupResource][]subscription{}, alarms: newAlarms(),
	}
	for _, c := range controllers {
		cs.add(c)
	}
	return cs, reported
}

// ofAAndB is a controller of the keys a and b.
func ofAAndB(sync func() error) *controller {
	return &controller{
		name:  "controller",
		first: func(s *step) { s.enqueue(key{name: "a"}, key{name: "b"}) },
		sync:  func(*step, key) error { return sync() },
	}
}

// A sync whose object is written by others each time ends, for example one whose write makes a webhook change the
// same object.
func TestASyncThatIsAlwaysOvertakenEnds(t *testing.T) {
	attempts := 0
	cs, reported := reporting(ofAAndB(func() error {
		attempts++
		return fmt.Errorf("written: %w", errConflict)
	}))
	defer cs.Close()
	if err := cs.Begin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	want := []string{"controller a: another write came first in each of 1000 attempts", "controller b: another write came first in each of 1000 attempts"}
	if !slices.Equal(*reported, want) || attempts != 2000 {
		t.Errorf("%d attempts, reported %q, want %q", attempts, *reported, want)
	}
}

// The syncs that follow a write end with the controllers, also between two attempts.
func TestSyncsEndWithTheControllers(t *testing.T) {
	attempts := 0
	var cs *Controllers
	cs, reported := reporting(ofAAndB(func() error {
		if attempts++; attempts == 3 {
			cs.Close()
		}
		return errConflict
	}))
	if err := cs.Begin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if attempts != 3 || len(*reported) > 0 {
		t.Errorf("%d attempts, reported %q", attempts, *reported)
	}
}

// A commit goes to the controllers that follow its kind or all kinds, in their order. The commit of a sync adds to the queue
// under way, and does not make the same sync necessary again.
func TestACommitIsSyncedInOrder(t *testing.T) {
	var synced []string
	pod := &resource.Resource{Names: resource.Names{Plural: "pods"}}
	node := &resource.Resource{Names: resource.Names{Plural: "nodes"}}
	var cs *Controllers
	controllerOf := func(name Name, k kind, also *resource.Resource) *controller {
		return &controller{name: name, follows: []followed{{kind: k, concerns: changed}}, sync: func(s *step, k key) error {
			synced = append(synced, fmt.Sprint(name, " ", k))
			if also != nil {
				cs.Committed(s.ctx, nil, write.Commit{Resource: also, Name: k.name})
			}
			return nil
		}}
	}
	cs, _ = reporting(controllerOf("first", anyKind, nil), controllerOf("pods", kind{"", "pods"}, pod), controllerOf("nodes", kind{"", "nodes"}, nil), controllerOf("last", anyKind, nil))
	defer cs.Close()
	for _, c := range []struct {
		rule     string
		resource *resource.Resource
		want     []string
	}{
		// The commit in the sync of pods comes while last is queued.
		{"a kind that a controller follows by name", pod, []string{"first a", "pods a", "last a", "first a"}},
		{"one that another follows", node, []string{"first a", "nodes a", "last a"}},
		{"one that none follows by name", &resource.Resource{Names: resource.Names{Plural: "secrets"}}, []string{"first a", "last a"}},
	} {
		synced = nil
		cs.Committed(context.Background(), nil, write.Commit{Resource: c.resource, Name: "a"})
		if !slices.Equal(synced, c.want) {
			t.Errorf("%s: synced %q, want %q", c.rule, synced, c.want)
		}
	}
}

// A controller catches up with the commits that the origin of a fork may not have handled. If it has handled all, the fork
// costs nothing.
func TestControllersCatchUp(t *testing.T) {
	for _, test := range []struct {
		complete int64
		want     []int64 // the revisions after which the controller catches up
	}{{0, []int64{0}}, {4, []int64{4}}, {5, nil}} {
		var got []int64
		cs, _ := reporting(&controller{catchUp: func(_ *step, after int64) error {
			got = append(got, after)
			return nil
		}})
		if err := cs.Resume(t.Context(), nil, 5, test.complete); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("complete up to %d: %d, want %d", test.complete, got, test.want)
		}
		cs.Close()
	}
}
