package volumes

import (
	"errors"
	"sync"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// Store has the volumes that outlive pods. Its methods are safe for concurrent use.
type Store struct {
	mu    sync.Mutex
	trees map[string]*files.Tree
}

// tree returns a volume.
func (s *Store) tree(key string) *files.Tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trees == nil {
		s.trees = map[string]*files.Tree{}
	}
	if s.trees[key] == nil {
		s.trees[key] = files.NewTree()
	}
	return s.trees[key]
}

// Close removes the folders of all volumes.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, tree := range s.trees {
		errs = append(errs, tree.Close())
	}
	return errors.Join(errs...)
}
