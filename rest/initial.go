package rest

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
)

// createInitialNamespaces makes the namespaces that every cluster has.
func (s *Server) createInitialNamespaces() error {
	for _, name := range builtin.NamespaceNames {
		w := apiServer.write(s.builtin.namespaces, "", name)
		w.Change = write.Create{Managed: true, Object: func(*resource.Version) (runtime.Object, error) {
			return builtin.InitialNamespace(name, w.Manager, s.controllers.now()), nil
		}}
		ctx := s.controllers.inform(apirequest.WithUser(context.Background(), apiServer.user), w)
		if _, err := s.writes.Run(ctx, w); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}
