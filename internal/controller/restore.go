package controller

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/tidwall/gjson"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

var serviceCIDRs = kind{networkingv1.GroupName, "servicecidrs"}

// initialObjects recreates deleted initial objects where kube-apiserver does so within a minute. It creates other
// initial objects only when it starts. The name in a key is the store key of the object.
func initialObjects() *controller {
	recreated := []kind{services, {"", "endpoints"}, endpointSlices, serviceCIDRs, flowSchemas, priorityLevels}
	c := &controller{identity: APIServer, sync: syncInitialObject, catchUp: func(s *step, _ int64) error {
		for _, k := range recreated {
			if v := k.in(s.server.Cluster.Registry()); v != nil {
				for _, stored := range builtin.InitialKeys(s.server.Initial, v.Resource.Prefix) {
					s.enqueue(key{name: stored})
				}
			}
		}
		return nil
	}}
	for _, k := range recreated {
		c.follows = append(c.follows, followed{kind: k, concerns: func(s *step, c change) error {
			if c.Deleted && builtin.IsInitial(s.server.Initial, c.Record.Key) {
				s.enqueue(key{name: c.Record.Key})
			}
			return nil
		}})
	}
	return c
}

func syncInitialObject(s *step, k key) error {
	res := s.server.Cluster.Registry().ResourceOf(k.name)
	if res == nil {
		return nil
	}
	current, err := s.server.Records.Get(k.name)
	exists := err == nil
	if exists && !serviceCIDRs.matches(res) || err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if exists && gjson.Get(current.Value, "status.conditions.0").Exists() {
		return nil
	}
	records := builtin.InitialRecords(s.server.Initial, s.now(), func() string { return "" }, 1)
	i := slices.IndexFunc(records, func(record store.Record) bool { return record.Key == k.name })
	if i < 0 {
		return nil
	}
	if !exists {
		if err := createInitial(s, res, records[i]); err != nil {
			return err
		}
	}
	if !serviceCIDRs.matches(res) {
		return nil
	}
	// The server itself sets the condition Ready of its range.
	created, err := find[*networkingv1.ServiceCIDR](s, serviceCIDRs, "", res.NameOf(k.name))
	if err != nil || created == nil {
		return err
	}
	var ready struct {
		Status map[string]any `json:"status"`
	}
	if err := json.Unmarshal([]byte(records[i].Value), &ready); err != nil {
		return err
	}
	return s.applyStatus(serviceCIDRs, created, "kubernetes-service-cidr-controller", ready.Status)
}

// createInitial creates an initial object from its record.
func createInitial(s *step, res *resource.Resource, record store.Record) error {
	v := s.controller.identity.Version(res)
	obj, err := v.Codec.DecodeStored(record)
	if err != nil {
		return err
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	metadata.SetResourceVersion("")
	metadata.SetManagedFields(nil)
	return s.write("create", v, metadata.GetNamespace(), "", write.Request{Change: write.Create{
		Object: write.Made(func(*resource.Version) (resource.Decoded, error) {
			return resource.Decoded{Object: obj.DeepCopyObject()}, nil
		}),
	}})
}
