package rest

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// createInitialNamespaces makes the namespaces that every cluster has.
func (s *Server) createInitialNamespaces() error {
	for _, name := range builtin.NamespaceNames {
		w := reactions{s}.write(context.Background(), s.namespaces, "", name)
		// Written out, because to work out who owns these fields takes longer than
		// to start a cluster.
		now := s.now()
		w.applied = true
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			Labels: map[string]string{corev1.LabelMetadataName: name},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: controllerManager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &now,
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{},"f:kubernetes.io/metadata.name":{}}}}`),
			}},
		}}
		if _, err := w.create(ns); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// Fork makes a server over a fork of this one's store. The two share what is
// immutable, the compiled definitions above all, and nothing else.
//
// What this one was in the middle of, such as to establish a definition, the
// fork brings to its end for itself.
func (s *Server) Fork(forked *store.Store, services webhook.ServiceResolver) (*Server, error) {
	options := s.options
	options.Services = services
	f := newServer(forked, options)
	f.random = s.random.fork()
	f.builtin, f.namespaces, f.definitions = s.builtin, s.namespaces, s.definitions
	// The catalogue may be ahead of the fork, or behind it. What it has compiled
	// is good for the records that the fork has, too.
	shared := slices.DeleteFunc(s.catalogue.Load().Definitions("*"), func(d *resource.Definition) bool {
		return d.Resource != nil && d.Resource.CallsOut
	})
	f.catalogue.Store(resource.NewCatalogue(0, f.builtin, shared))
	if err := f.refresh(); err != nil {
		return nil, err
	}
	if err := f.inheritChain(s.chain.Load()); err != nil {
		return nil, err
	}
	f.reactor.Inherit(s.reactor, forked.Revision())
	return f, f.reactor.Resume(context.Background(), forked.Revision())
}
