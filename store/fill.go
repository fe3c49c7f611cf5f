package store

import (
	"errors"
	"fmt"

	"github.com/tidwall/buntdb"
)

// errNotEmpty is the error of Fill for a store that has been written to.
var errNotEmpty = errors.New("the store contains writes already")

// Fill sets the first records of a store that has never been written to. The records must be in the
// order of their keys; the store keeps the slice. The result is as if they had been created one
// after the other, the first at revision 2 and the next at 3, and the history has these creations.
// Each record must have its revision in Revision and in Created.
//
// Fill copies no value, and takes much less time than creating the records one by one. It fails if the store
// has been written to, if a record is out of order, or if the file of the store cannot be written; then
// nothing has changed.
func (s *Store) Fill(records []Record) error {
	s.write.Lock()
	defer s.write.Unlock()

	base := make([]item, len(records))
	events := make([]*Event, len(records))
	made := make([]Event, len(records))
	var bytes int64
	for i := range records {
		r := &records[i]
		if r.Revision != FirstRevision+1+int64(i) || r.Created != r.Revision || i > 0 && records[i-1].Key >= r.Key {
			return fmt.Errorf("filling a store: record %d, %s, is out of order", i, r.Key)
		}
		base[i] = item{key: r.Key, past: r}
		made[i] = Event{Type: Created, Record: *r, Previous: &noRecord}
		events[i] = &made[i]
		bytes += made[i].size()
	}
	sorted := sortedKeys(len(records), func(i int) string { return records[i].Key })

	err := s.update(func(*buntdb.Tx) error {
		if s.log.revision.Load() != FirstRevision {
			return fmt.Errorf("filling a store: %w", errNotEmpty)
		}
		if s.file != nil {
			if err := s.file.append(eventsFrameOf(s.file.safe(), events)); err != nil {
				return err
			}
		}
		s.state.base, s.state.keys = base, sorted
		s.log.init(s.options, FirstRevision+int64(len(records)), events, bytes)
		s.frozen = nil
		return nil
	})
	if err == nil {
		s.changes.announce()
	}
	return err
}
