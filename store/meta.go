package store

// Meta returns the text of the last SetMeta, of this store or of the store whose file or snapshot
// this one continues.
func (s *Store) Meta() string {
	s.write.Lock()
	defer s.write.Unlock()
	return s.meta
}

// SetMeta keeps a text beside the records, which the store does not interpret. It is not a write and
// has no revision.
func (s *Store) SetMeta(meta string) error {
	s.write.Lock()
	defer s.write.Unlock()
	if s.closed.Load() {
		return ErrClosed
	}
	if s.file != nil {
		if err := s.file.append(newFrame(metaFrame).number(s.file.safe()).text(meta)); err != nil {
			return err
		}
	}
	s.meta, s.frozen = meta, nil
	return nil
}
