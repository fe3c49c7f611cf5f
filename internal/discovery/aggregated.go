package discovery

import (
	"bytes"
	"cmp"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// codecs encodes aggregated discovery. The current release no longer has v2beta1.
var codecs = sync.OnceValue(func() serializer.CodecFactory {
	scheme := kruntime.NewScheme()
	utilruntime.Must(apidiscoveryv2.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme)
})

// Foreign is a group version of an aggregated server.
type Foreign struct {
	Group                          string
	GroupPriority, VersionPriority int
	Version                        apidiscoveryv2.APIVersionDiscovery
}

// ServeAggregated answers /api or /apis with aggregated discovery, if the client prefers that, and reports whether it
// did. foreign returns the group versions of aggregated servers.
func ServeAggregated(w http.ResponseWriter, req *http.Request, c *resource.Registry, foreign func() []Foreign) bool {
	prefix := req.URL.Path
	if prefix != "/api" && prefix != "/apis" || req.Method != http.MethodGet {
		return false
	}
	// A client gets the plain document if it prefers that, or if it accepts neither form.
	media, _, err := negotiation.NegotiateOutputMediaType(req, codecs(), aggregatedOrPlain{})
	if err != nil || media.Convert == nil {
		return false
	}
	var d *document
	var others []Foreign
	if prefix == "/apis" {
		others = foreign()
	}
	if len(others) == 0 {
		d = c.Memo(prefix, func() any { return newDocument(aggregate(c, prefix == "/api")) }).(*document)
	} else {
		list := aggregate(c, false)
		merge(list, c, others)
		d = newDocument(list)
	}
	w.Header().Set("Vary", "Accept")
	aggregated.ServeHTTPWithETag(d, d.tag, media.Convert.GroupVersion(), codecs(), w, req)
	return true
}

// document is an aggregated document, which is encoded once for each media type. It implements kruntime.CacheableObject.
type document struct {
	*apidiscoveryv2.APIGroupDiscoveryList
	tag     string
	encoded sync.Map // texts by the identifier of the encoder
}

func newDocument(list *apidiscoveryv2.APIGroupDiscoveryList) *document {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // texts can always be encoded
	}
	return &document{APIGroupDiscoveryList: list, tag: fmt.Sprintf("%X", sha512.Sum512(text))}
}

// GetObject implements kruntime.CacheableObject.
func (d *document) GetObject() kruntime.Object { return d.APIGroupDiscoveryList.DeepCopy() }

// CacheEncode implements kruntime.CacheableObject.
func (d *document) CacheEncode(by kruntime.Identifier, encode func(kruntime.Object, io.Writer) error, w io.Writer) error {
	text, ok := d.encoded.Load(by)
	if !ok {
		var b bytes.Buffer
		if err := encode(d.GetObject(), &b); err != nil {
			return err
		}
		text, _ = d.encoded.LoadOrStore(by, b.Bytes())
	}
	_, err := w.Write(text.([]byte))
	return err
}

// aggregatedOrPlain accepts the aggregated document and the plain one, to determine which of them the client prefers.
// Upstream's restrictions accept only one.
type aggregatedOrPlain struct {
	negotiation.EndpointRestrictions
}

func (aggregatedOrPlain) AllowsMediaTypeTransform(_, _ string, target *schema.GroupVersionKind) bool {
	return target == nil || aggregated.IsAggregatedDiscoveryGVK(target)
}
func (aggregatedOrPlain) AllowsServerVersion(string) bool  { return false }
func (aggregatedOrPlain) AllowsStreamSchema(s string) bool { return s == "watch" }

func aggregate(c *resource.Registry, core bool) *apidiscoveryv2.APIGroupDiscoveryList {
	list := &apidiscoveryv2.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: apidiscoveryv2.SchemeGroupVersion.String()},
		Items:    []apidiscoveryv2.APIGroupDiscovery{},
	}
	for _, g := range c.Groups() {
		if (g.Name == "") != core {
			continue
		}
		group := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.Name}}
		for _, name := range g.Versions {
			// A version without resources has only definitions that are not established. This document leaves it out,
			// unlike the lists of groups and versions, which come from APIServices.
			if served := aggregateResources(g, name); len(served) > 0 {
				group.Versions = append(group.Versions, apidiscoveryv2.APIVersionDiscovery{
					Version: name, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent, Resources: served,
				})
			}
		}
		if len(group.Versions) > 0 {
			list.Items = append(list.Items, group)
		}
	}
	return list
}

// merge adds the group versions of aggregated servers. They replace versions with the same name.
func merge(list *apidiscoveryv2.APIGroupDiscoveryList, c *resource.Registry, foreign []Foreign) {
	if len(foreign) == 0 {
		return
	}
	priorities := map[schema.GroupVersion]resource.Priority{}
	for _, g := range c.Groups() {
		for _, v := range g.Versions {
			priorities[schema.GroupVersion{Group: g.Name, Version: v}] = g.Priority(v)
		}
	}
	for _, f := range foreign {
		priorities[schema.GroupVersion{Group: f.Group, Version: f.Version.Version}] = resource.Priority{Group: f.GroupPriority, Version: f.VersionPriority}
		index := slices.IndexFunc(list.Items, func(g apidiscoveryv2.APIGroupDiscovery) bool { return g.Name == f.Group })
		if index < 0 {
			index = len(list.Items)
			list.Items = append(list.Items, apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: f.Group}})
		}
		group := &list.Items[index]
		group.Versions = slices.DeleteFunc(group.Versions, func(v apidiscoveryv2.APIVersionDiscovery) bool { return v.Version == f.Version.Version })
		group.Versions = append(group.Versions, f.Version)
	}
	place := map[string]int{}
	for _, g := range list.Items {
		priority := func(v apidiscoveryv2.APIVersionDiscovery) resource.Priority {
			return priorities[schema.GroupVersion{Group: g.Name, Version: v.Version}]
		}
		for _, v := range g.Versions {
			place[g.Name] = max(place[g.Name], priority(v).Group)
		}
		slices.SortStableFunc(g.Versions, func(a, b apidiscoveryv2.APIVersionDiscovery) int {
			return cmp.Or(cmp.Compare(priority(b).Version, priority(a).Version), version.CompareKubeAwareVersionStrings(b.Version, a.Version))
		})
	}
	slices.SortStableFunc(list.Items, func(a, b apidiscoveryv2.APIGroupDiscovery) int {
		return cmp.Or(cmp.Compare(place[b.Name], place[a.Name]), strings.Compare(a.Name, b.Name))
	})
}

func aggregateResources(g *resource.Group, name string) []apidiscoveryv2.APIResourceDiscovery {
	var resources []apidiscoveryv2.APIResourceDiscovery
	for _, r := range g.Resources {
		v := g.Published(r, name)
		if v == nil {
			continue
		}
		entry := apidiscoveryv2.APIResourceDiscovery{
			Resource: r.Names.Plural, SingularResource: r.Names.Singular, Scope: apidiscoveryv2.ScopeCluster,
			ResponseKind: responseKind(v, v.Kind()), Verbs: r.Verbs, ShortNames: r.Names.ShortNames, Categories: r.Names.Categories,
		}
		if r.Namespaced {
			entry.Scope = apidiscoveryv2.ScopeNamespace
		}
		for _, sub := range v.SubresourceNames() {
			s := v.Subresource[sub]
			entry.Subresources = append(entry.Subresources, apidiscoveryv2.APISubresourceDiscovery{
				Subresource: sub, ResponseKind: responseKind(v, v.KindOf(s)), Verbs: s.Verbs,
			})
		}
		resources = append(resources, entry)
	}
	return resources
}

// responseKind returns a kind in the form of aggregated discovery.
func responseKind(v *resource.Version, k schema.GroupVersionKind) *metav1.GroupVersionKind {
	if v.Resource.BriefKinds && k.GroupVersion() == v.GroupVersion() {
		return &metav1.GroupVersionKind{Kind: k.Kind}
	}
	return &metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}
