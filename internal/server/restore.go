package server

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/lifecycle"
	"github.com/fakecluster/fakecluster/store"
)

// restorer is a lifecycle.Keeper. It creates initial objects again that somebody has deleted, if
// kube-apiserver does so, which takes it up to a minute. Its other initial objects it only makes when
// it starts.
type restorer struct {
	reactions reactions
	options   builtin.Options
}

// restored are the resources of the objects that are created again.
var restored = []schema.GroupResource{
	{Resource: "services"}, {Resource: "endpoints"},
	{Group: discoveryv1.GroupName, Resource: "endpointslices"},
	{Group: networkingv1.GroupName, Resource: "servicecidrs"},
	{Group: flowcontrolv1.GroupName, Resource: "flowschemas"},
	{Group: flowcontrolv1.GroupName, Resource: "prioritylevelconfigurations"},
}

// Name implements lifecycle.Keeper.
func (restorer) Name() lifecycle.Controller { return "kube-apiserver" }

// Watches implements lifecycle.Keeper.
func (restorer) Watches() []schema.GroupResource { return restored }

// Note implements lifecycle.Keeper. A key is that of the object in the store.
func (r restorer) Note(c lifecycle.Change) ([]string, error) {
	if !c.Deleted || !builtin.IsInitial(r.options, c.Record.Key) {
		return nil, nil
	}
	return []string{c.Record.Key}, nil
}

// All implements lifecycle.Keeper: when a server starts, it makes what is missing itself.
func (restorer) All() ([]string, error) { return nil, nil }

// Keep implements lifecycle.Keeper.
func (r restorer) Keep(ctx context.Context, key string) (again time.Time, err error) {
	if _, err := r.reactions.store.Get(key); !errors.Is(err, store.ErrNotFound) {
		return again, err
	}
	res := r.reactions.catalogue.Load().ResourceOf(key)
	if res == nil {
		return again, nil
	}
	records := builtin.InitialRecords(r.options, r.reactions.now().Time, func() string { return "" }, 1)
	i := slices.IndexFunc(records, func(record store.Record) bool { return record.Key == key })
	if i < 0 {
		return again, nil
	}
	obj, err := written(res).Codec.DecodeStored(records[i])
	if err != nil {
		return again, err
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return again, err
	}
	metadata.SetResourceVersion("")
	metadata.SetManagedFields(nil)
	if err := r.reactions.own.create(ctx, res, metadata.GetNamespace(), obj); err != nil || res.Names.Kind != "ServiceCIDR" {
		return again, err
	}
	// The server says itself that its range is ready.
	record, err := r.reactions.store.Get(key)
	if err != nil {
		return again, err
	}
	var status struct {
		Status map[string]any `json:"status"`
	}
	if err := json.Unmarshal([]byte(records[i].Value), &status); err != nil {
		return again, err
	}
	ready := &unstructured.Unstructured{Object: map[string]any{"status": status.Status}}
	return again, r.reactions.ApplyStatus(ctx, res, record, ready, "kubernetes-service-cidr-controller")
}
