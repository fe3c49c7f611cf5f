package builtin

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/kubernetes/pkg/capabilities"
	podstorage "k8s.io/kubernetes/pkg/registry/core/pod/storage"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// Options select the served versions and the network.
type Options struct {
	// LegacyAPIs adds versions that only earlier releases served.
	LegacyAPIs bool
	// RuntimeConfig turns versions on and off.
	RuntimeConfig RuntimeConfig
	// Network has the addresses of the server and its services in the initial objects.
	Network Network
}

// key returns a text that differs for different options.
func (o Options) key() string {
	key := o.RuntimeConfig.String()
	if o.LegacyAPIs {
		key += "+legacy"
	}
	return key
}

// groups has all groups in the order of discovery. The group of CustomResourceDefinitions
// has no kinds here; newResources leaves a gap for them.
var groups = []*group{
	&core, &apiServices, &apps, &events, &authenticationKinds, &authorizationKinds, &autoscalers, &batch, &certificateKinds, &networking,
	&policy, &rbac, &volumes, &admissionKinds, &definitions, &scheduling, &coordination, &nodes, &discovery, &devices,
	&flowcontrol, &storageVersions, &storageMigrations,
}

var definitions = group{name: "apiextensions.k8s.io"}

// resourcesByOptions caches the resources by Options.key, for 16 of them. A process uses few.
var resourcesByOptions = cache.New[string, []*resource.Resource](16)

// Resources returns the resources of all kinds in the order of discovery. If crds, the resource of
// CustomResourceDefinitions, is not nil, it is included at its place. All clusters with the same options share the other
// resources.
func Resources(o Options, crds *resource.Resource) []*resource.Resource {
	key := o.key()
	cached, _ := resourcesByOptions.Make(key, 1, func() ([]*resource.Resource, error) { return newResources(o), nil })
	resources := make([]*resource.Resource, 0, len(cached)+1)
	for _, r := range cached {
		if r == nil {
			r = crds
		}
		if r != nil {
			resources = append(resources, r)
		}
	}
	return resources
}

// newResources returns the resources, with nil at the place of the resource of definitions.
func newResources(o Options) []*resource.Resource {
	setUpstream()
	var resources []*resource.Resource
	byKind := map[schema.GroupKind]*resource.Resource{}
	for _, g := range groups {
		if g == &definitions {
			resources = append(resources, nil)
		}
		for i := range g.kinds {
			k := &g.kinds[i]
			r := k.resource(g, o)
			if r == nil {
				continue
			}
			if r.Storage == nil {
				r.Storage = byKind[schema.GroupKind{Group: *k.storedIn, Kind: k.kind}].Storage
			}
			byKind[r.GroupKind()] = r
			resources = append(resources, r)
		}
	}
	return resources
}

// setUpstream allows privileged containers, because real clusters run kube-apiserver with --allow-privileged. The
// setting belongs to the process.
//
// setUpstream also makes evictions retry without a pause after a conflict. Upstream tries 20 times and waits half a
// second each time; this setting belongs to the process, too. An eviction conflicts with any other eviction at most
// once, and a budget allows MaxDisruptedPodSize of them, so more attempts are not necessary. An eviction whose
// precondition never holds conflicts each time, so there must be a limit. Between two attempts, the storages of this
// package check whether the request has ended.
var setUpstream = sync.OnceFunc(func() {
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	podstorage.EvictionsRetry = wait.Backoff{Steps: podstorage.MaxDisruptedPodSize}
})
