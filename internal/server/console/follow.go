package console

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/server"
)

// FollowObject calls look with the current state of an object and then with each later state, in the version of the
// kind, until look returns true. The state is nil while the object does not exist. It reads the history of the store, so
// faults and holds do not affect it, and it misses no state. It returns the error of ctx when ctx ends, and fails if the
// cluster does not serve the kind.
func FollowObject(ctx context.Context, c *server.Cluster, kind schema.GroupVersionKind, namespace, name string, look func(map[string]any) bool) error {
	_, key, err := named(c, kind, namespace, name)
	if err != nil {
		return err
	}
	changes, err := c.Store.Watch(key, 0)
	if err != nil {
		return err
	}
	state := func(revision int64) (done bool, err error) {
		object, err := ObjectAt(c, kind, namespace, name, revision)
		if apierrors.IsNotFound(err) {
			object, err = nil, nil
		}
		return err == nil && look(object), err
	}
	if done, err := state(changes.Revision()); done || err != nil {
		return err
	}
	for {
		events, err := changes.Next(ctx)
		if err != nil {
			return err
		}
		for _, event := range events {
			if event.Record.Key != key { // another object, whose key begins with this one
				continue
			}
			if done, err := state(event.Record.Revision); done || err != nil {
				return err
			}
		}
	}
}
