package rest

import (
	"errors"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// fill creates the initial objects of a cluster. In a store that has been written to, it
// creates those that are missing.
func (s *Server) fill(kinds builtin.Options) error {
	uid := func() string { return string(s.writes.Random.UID()) }
	newest := s.store.Revision()
	records := builtin.InitialRecords(kinds, s.options.Now(), uid, newest+1)
	if newest == store.FirstRevision {
		return s.store.Fill(records)
	}
	for _, r := range records {
		_, err := s.store.Create(r.Key, store.Write{
			Make: func(revision int64) string { return view.WithResourceVersion(r.Value, revision) },
			Tag:  r.Tag, Index: r.Index,
		})
		var exists *store.ExistsError
		if err != nil && !errors.As(err, &exists) {
			return err
		}
	}
	return nil
}
