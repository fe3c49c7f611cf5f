// Package storetest fills stores for the tests of packages that read them.
package storetest

import (
	"encoding/json"
	"testing"

	"github.com/fakecluster/fakecluster/store"
)

// Open opens a store in memory, which is closed when the test ends.
func Open(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Put writes an object as JSON to a key, or deletes what is there: obj is nil then.
func Put(t testing.TB, s *store.Store, key string, obj any) {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	write := store.Write{Make: func(int64) string { return string(text) }}
	current, err := s.Get(key)
	switch {
	case obj == nil && err == nil:
		_, err = s.Delete(key, current.Revision, write)
	case obj == nil:
		return
	case err == nil:
		_, err = s.Update(key, current.Revision, write)
	default:
		_, err = s.Create(key, write)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Prefix returns what the keys of a resource begin with in the stores of tests, by its plural.
func Prefix(plural string) string { return "/registry/" + plural + "/" }
