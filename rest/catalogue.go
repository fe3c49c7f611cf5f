package rest

import (
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// refresh brings the catalogue up to date with the definitions in the store.
// Whoever has read the newest ones wins; nobody waits.
func (s *Server) refresh() error {
	for {
		was := s.catalogue.Load()
		definitions, err := s.store.List(s.definitions.Prefix, store.ListOptions{})
		if err != nil {
			return fmt.Errorf("reading the definitions: %w", err)
		}
		if definitions.Revision <= was.Revision {
			return nil
		}
		is, err := s.compile(was, definitions)
		if err != nil {
			return err
		}
		if s.catalogue.CompareAndSwap(was, is) {
			return nil
		}
	}
}

// compile makes the catalogue of the definitions. What is in the former one and
// has not changed is taken over.
func (s *Server) compile(was *resource.Catalogue, definitions store.List) (*resource.Catalogue, error) {
	all := make([]*resource.Definition, 0, len(definitions.Records))
	for _, record := range definitions.Records {
		known := was.Definition(strings.TrimPrefix(record.Key, s.definitions.Prefix))
		if known != nil && known.Record.Revision == record.Revision {
			all = append(all, known)
			continue
		}
		definition, err := s.memory.Decode(s.definitions.Storage, record)
		if err != nil {
			return nil, err
		}
		d, err := crd.Compile(record, definition.Object.(*apiextensions.CustomResourceDefinition), s.options.Services)
		if err != nil {
			// Validation keeps such definitions out. If one slips through it has
			// no endpoint.
			klog.ErrorS(err, "A definition cannot be served", "definition", d.Name)
		}
		all = append(all, d)
	}
	return resource.NewCatalogue(definitions.Revision, s.builtin, all), nil
}
