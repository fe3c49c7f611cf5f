package builtin

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kubernetes/pkg/capabilities"

	"github.com/fakecluster/fakecluster/internal/content"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// Options say which versions are served beside those of a server by default.
type Options struct {
	// LegacyAPIs are those that earlier releases had.
	LegacyAPIs bool
	// RuntimeConfig are those that are off by default.
	RuntimeConfig RuntimeConfig
}

// groups are all groups in the order of discovery. That of CustomResourceDefinitions,
// which are not built in here, has no kinds.
var groups = []*group{
	&core, &apiServices, &apps, &events, &authentication, &authorization, &autoscalers, &batch, &certificateKinds, &networking,
	&policy, &rbac, &volumes, &admissionKinds, &definitions, &scheduling, &coordination, &nodes, &discovery, &devices,
	&flowcontrol, &storageMigrations, &storageVersions,
}

var definitions = group{name: "apiextensions.k8s.io"}

// made remembers the resources of each set of options. There are few.
var made = content.NewCache[string, []*resource.Resource](16)

// Resources are the resources of all kinds, in the order of discovery, with that of
// CustomResourceDefinitions, if there is one, where it belongs. They are those of all
// clusters with the same options.
func Resources(o Options, crds *resource.Resource) []*resource.Resource {
	key := o.RuntimeConfig.String()
	if o.LegacyAPIs {
		key += "+legacy"
	}
	known, ok := made.Get(key)
	if !ok {
		known = made.Put(key, newResources(o), 1)
	}
	all := make([]*resource.Resource, 0, len(known)+1)
	for _, r := range known {
		if r == nil {
			r = crds
		}
		if r != nil {
			all = append(all, r)
		}
	}
	return all
}

// newResources makes the resources. Nil stands for that of definitions.
func newResources(o Options) []*resource.Resource {
	allowPrivileged()
	var all []*resource.Resource
	documents := &documents{byVersion: map[schema.GroupVersion]*document{}}
	byKind := map[schema.GroupKind]*resource.Resource{}
	for _, g := range groups {
		if g == &definitions {
			all = append(all, nil)
		}
		for i := range g.kinds {
			k := &g.kinds[i]
			r := k.resource(g, o, documents)
			if r == nil {
				continue
			}
			if r.Storage == nil {
				r.Storage = byKind[schema.GroupKind{Group: *k.storedIn, Kind: k.kind}].Storage
			}
			byKind[r.GroupKind()] = r
			for _, v := range r.Versions {
				if v.Served {
					documents.describe(v, g.typesOf())
				}
			}
			all = append(all, r)
		}
	}
	return all
}

// allowPrivileged lets containers be privileged, as servers are started to that run
// more than a demonstration. Upstream keeps that for the whole process.
var allowPrivileged = sync.OnceFunc(func() { capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true}) })

// typesByGroup are the schemas of the groups that a write has needed so far.
var typesByGroup sync.Map // of *group to func() (managedfields.TypeConverter, error)

// types are what server-side apply knows of the kinds of a group. It takes some 20 ms
// to make them, once in a process.
func (g *group) types() (managedfields.TypeConverter, error) {
	made, ok := typesByGroup.Load(g)
	if !ok {
		made, _ = typesByGroup.LoadOrStore(g, sync.OnceValues(func() (managedfields.TypeConverter, error) {
			return schemas(g.typesOf(), g.kindsOf())
		}))
	}
	return made.(func() (managedfields.TypeConverter, error))()
}
