package history

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/store"
)

// ObjectHistory returns the states of the object with a key in the history of the store, the oldest first. text returns
// the JSON of a record in the wanted version.
func (r *Recorder) ObjectHistory(s *store.Store, key string, text func(store.Record) (string, error)) (inspect.History, error) {
	for {
		history, err := r.historyOf(s, key, text)
		var compacted *store.CompactedError
		if !errors.As(err, &compacted) {
			return history, err
		}
		// Revisions were compacted meanwhile.
	}
}

// eventTypes maps types of the store's events to those of watch events.
var eventTypes = map[store.EventType]watch.EventType{store.Created: watch.Added, store.Updated: watch.Modified, store.Deleted: watch.Deleted}

func (r *Recorder) historyOf(s *store.Store, key string, text func(store.Record) (string, error)) (inspect.History, error) {
	changes, err := s.Watch(key, s.Oldest())
	if err != nil {
		return nil, err
	}
	var history inspect.History
	add := func(t watch.EventType, record store.Record) error {
		obj, err := decode(record, text)
		if err != nil {
			return err
		}
		by, _ := r.Writer(record.Revision)
		revision := inspect.Revision{
			Revision: record.Revision, Event: t, Time: by.Time, User: by.User, UserAgent: by.UserAgent, AuditID: by.AuditID,
			Verb: by.Verb, Patch: by.Patch, Subresource: by.Subresource, Number: by.Request,
			Object: &unstructured.Unstructured{Object: obj},
		}
		if len(history) > 0 && t != watch.Added {
			revision.Changes = Diff(history[len(history)-1].Object.Object, obj)
		}
		history = append(history, revision)
		return nil
	}
	for {
		events, err := changes.Poll()
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			if e.Record.Key != key {
				continue
			}
			if len(history) == 0 && e.Type != store.Created {
				if err := add("", *e.Previous); err != nil {
					return nil, err
				}
			}
			if err := add(eventTypes[e.Type], e.Record); err != nil {
				return nil, err
			}
		}
	}
	if len(history) == 0 {
		if record, err := s.Get(key); err == nil {
			return history, add("", record)
		}
	}
	return history, nil
}

func decode(record store.Record, text func(store.Record) (string, error)) (obj map[string]any, err error) {
	in, err := text(record)
	if err == nil {
		err = utiljson.Unmarshal([]byte(in), &obj)
	}
	if err != nil {
		return nil, fmt.Errorf("reading revision %d of %s: %w", record.Revision, record.Key, err)
	}
	return obj, nil
}
