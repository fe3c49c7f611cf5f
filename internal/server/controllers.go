package server

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/auth"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// forControllers shows the server to package controllers.
type forControllers struct {
	state state
	own   *ownWrites
	// authenticationInfo is Options.AuthenticationInfo.
	authenticationInfo func() map[string]string
}

func (c forControllers) Cluster() restadmission.Cluster          { return c.state }
func (c forControllers) Catalogue() (*resource.Catalogue, error) { return c.state.catalogue.fresh() }
func (c forControllers) Revision() int64                         { return c.state.store.Revision() }

func (c forControllers) Read(key string) (store.Record, error) { return c.state.store.Get(key) }

func (c forControllers) Of(v *resource.Version, record store.Record) (runtime.Object, error) {
	current, err := c.state.memory.Decode(v, record)
	if err != nil {
		return nil, err
	}
	return v.External(current.Object)
}

// Before is Of without the memory, which keeps only one state of each object.
func (c forControllers) Before(v *resource.Version, record store.Record) (runtime.Object, error) {
	obj, err := v.Codec.DecodeStored(record)
	if err != nil {
		return nil, err
	}
	return v.External(obj)
}

func (c forControllers) Run(ctx context.Context, account, verb string, w write.Request) (write.Result, error) {
	by := apiServer
	if account != "" {
		by = managed(account)
	}
	return c.own.send(ctx, by, verb, w)
}

func (c forControllers) AuthenticationInfo() map[string]string { return c.authenticationInfo() }

func (c forControllers) RootCA() ([]byte, error) {
	authority, err := auth.OfProcess()
	if err != nil {
		return nil, err
	}
	return authority.PEM(), nil
}

//lint:ignore SA1019 the controller is still there
func (c forControllers) RepackSubsets(subsets []corev1.EndpointSubset) []corev1.EndpointSubset {
	return builtin.RepackSubsets(subsets)
}
