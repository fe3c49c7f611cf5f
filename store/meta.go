package store

// Meta returns the text that SetMeta was last given: in this store, or in the one whose file or
// snapshot this store continues.
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
