package plugins

import (
	"context"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// A plugin is not called for resources to which it does not apply. So it must ignore their objects
// without reading the cluster. This test does not have a cluster: a plugin that reads it panics.
func TestPluginsIgnoreOtherResources(t *testing.T) {
	everything, err := builtin.ParseRuntimeConfig("api/all=true")
	if err != nil {
		t.Fatal(err)
	}
	served := builtin.Resources(builtin.Options{RuntimeConfig: everything}, crd.Definitions(false))
	for i := range ordered {
		p := &ordered[i]
		if p.resources == nil {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			instances := initialized(t, p)
			passed, applies := 0, 0
			for _, r := range served {
				if !r.InTreeAdmission {
					continue
				}
				if p.appliesTo(r) {
					applies++
					continue
				}
				for _, operation := range []upstream.Operation{upstream.Create, upstream.Update, upstream.Delete} {
					for _, subresource := range []string{"", "status"} {
						if diff := effect(instances, r, subresource, operation); diff != "" {
							t.Errorf("%s %s/%s: %s", operation, r.GroupResource(), subresource, diff)
						}
						passed++
					}
				}
			}
			want := len(p.resources)
			for _, gated := range resources("podgroups.scheduling.k8s.io", "compositepodgroups.scheduling.k8s.io") {
				if slices.Contains(p.resources, gated) {
					want-- // behind a feature gate that is closed
				}
			}
			if applies != want {
				t.Errorf("%d of %v are served", applies, p.resources)
			}
			if passed < 100 {
				t.Errorf("only %d writes were passed", passed)
			}
		})
	}
}

// Plugins get clients and informers when they are created, which is at the first write of a cluster.
func TestPluginsGetWhatTheyWant(t *testing.T) {
	for i := range ordered {
		if p := &ordered[i]; p.register != nil && !p.needsConfiguration {
			t.Run(p.name, func(t *testing.T) { initialized(t, p) })
		}
	}
}

// initialized returns the instances of a plugin.
func initialized(t *testing.T, p *plugin) instances {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("the plugin gets something that the client in client.go or the factory in informers.go does not have: add it there (%v)\n%s", r, debug.Stack())
		}
	}()
	created, err := newInstances([]*plugin{p}, Configuration{}, noCluster{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// effect returns what plugins do to a write; empty: nothing.
func effect(made instances, r *resource.Resource, subresource string, operation upstream.Operation) (diff string) {
	defer func() {
		if p := recover(); p != nil {
			diff = "it reads the cluster"
		}
	}()
	obj := r.Storage.Codec.New()
	before := obj.DeepCopyObject()
	var old runtime.Object
	if operation != upstream.Create {
		old = obj.DeepCopyObject()
	}
	a := upstream.NewAttributesRecord(obj, old, r.Storage.Kind(), "default", "a", r.Storage.GroupVersionResource(), subresource,
		operation, nil, false, &user.DefaultInfo{Name: "jane"})
	for _, m := range made.mutating {
		if m.Handles(operation) {
			if err := m.Admit(context.Background(), a, nil); err != nil {
				return err.Error()
			}
		}
	}
	for _, v := range made.validating {
		if v.Handles(operation) {
			if err := v.Validate(context.Background(), a, nil); err != nil {
				return err.Error()
			}
		}
	}
	return cmp.Diff(before, obj)
}

// noCluster is a cluster that panics when it is read.
type noCluster struct{ Cluster }

func (noCluster) Authorizer() authorizer.UnconditionalAuthorizer {
	return struct {
		authorizer.UnconditionalAuthorizer
	}{}
}
