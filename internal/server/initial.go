package server

import (
	"errors"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// fill creates the initial objects that the store lacks.
func (c *Cluster) fill() error {
	uid := func() string { return string(c.Writes.Random.UID()) }
	newest := c.Store.Revision()
	records := builtin.InitialRecords(c.builtin.options, c.options.Now(), uid, newest+1)
	if newest == store.FirstRevision {
		return c.Store.Fill(records)
	}
	for _, r := range records {
		_, err := c.Store.Create(r.Key, store.Write{
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
