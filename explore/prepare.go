package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore/internal/dump"
	"github.com/fakecluster/fakecluster/explore/internal/state"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/manifests"
)

// seed is a custom resource with which trials begin.
type seed struct {
	name     string // such as websites.example.com default/home
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	schema   *apiextensionsv1.JSONSchemaProps
	status   bool // it has the subresource status
	observes bool // its schema has status.observedGeneration
	defined  bool // its kind is defined by a CustomResourceDefinition
	needs    []need
	neighbor *seed // an equal custom resource under another name; nil: the seed is a neighbor or a namesake itself
	namesake *seed // an equal custom resource in another namespace; nil: it has no namespace, or is a neighbor or a namesake itself
}

// need is an object of another kind that the custom resource may refer to.
type need struct {
	name     string
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	schema   *apiextensionsv1.JSONSchemaProps // the schema, if it is a custom resource of the operator; else nil
}

// installation is a version of an operator, and a cluster in which it is installed.
type installation struct {
	subject   Subject
	manifests []*unstructured.Unstructured // the objects of Install and Roles
	base      *fakecluster.Cluster
	present   map[string]string // resourceVersions of the objects of the base cluster, by name
	config    func(*fakecluster.Cluster) *rest.Config
	user      string   // the user of the operator; empty: the administrator
	left      []string // objects of the dump that could not be loaded
}

// newInstallation installs an operator in a new cluster, and does not start it.
func newInstallation(s Subject) (i *installation, err error) {
	i = &installation{subject: s}
	if i.manifests, err = readObjects(slices.Concat(s.Install, s.Roles)); err != nil {
		return nil, err
	}
	if err := i.findUser(); err != nil {
		return nil, err
	}
	if i.base, err = fakecluster.New(i.options(s.Seed)...); err != nil {
		return nil, fmt.Errorf("installing the operator: %w", err)
	}
	if err := i.loadDump(); err != nil {
		_ = i.base.Close()
		return nil, err
	}
	if i.present, err = objectsIn(i.base); err != nil {
		_ = i.base.Close()
		return nil, err
	}
	return i, nil
}

// loadDump loads the objects of a real cluster.
func (i *installation) loadDump() error {
	objects, err := readObjects(i.subject.Dump)
	if err != nil {
		return fmt.Errorf("Subject.Dump: %w", err)
	}
	i.left = dump.Load(i.base, objects)
	return nil
}

// options returns the options of a cluster in which the operator is installed.
func (i *installation) options(seed uint64) []fakecluster.Option {
	s := &i.subject
	options := []fakecluster.Option{
		fakecluster.InProcess(), fakecluster.WithSeed(seed), fakecluster.WithObjects(missingNamespaces(i.manifests)...),
		fakecluster.WithControllers(append(fakecluster.DefaultControllers(), fakecluster.GarbageCollector)...),
		fakecluster.WithManifests(s.Install...),
	}
	if others := slices.DeleteFunc(slices.Clone(s.Roles), func(path string) bool { return slices.Contains(s.Install, path) }); len(others) > 0 {
		options = append(options, fakecluster.WithManifests(others...))
	}
	return append(options, s.Options...)
}

// readObjects reads the objects in manifest files and folders.
func readObjects(paths []string) (objects []*unstructured.Unstructured, err error) {
	for _, path := range paths {
		files, err := manifests.Find(path)
		if err != nil {
			return nil, fmt.Errorf("manifest path: %w", err)
		}
		for _, file := range files {
			content, err := manifests.ReadFile(file)
			if err != nil {
				return nil, err
			}
			d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(content)), len(content)+1)
			for {
				var text runtime.RawExtension
				err := d.Decode(&text)
				if errors.Is(err, io.EOF) {
					break
				}
				u := &unstructured.Unstructured{}
				if err == nil && len(text.Raw) > 0 { // a document may be empty
					err = utiljson.Unmarshal(text.Raw, &u.Object) // numbers become int64 where they can
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %w", file, err)
				}
				if u.IsList() {
					list, err := u.ToList()
					if err != nil {
						return nil, fmt.Errorf("%s: %w", file, err)
					}
					for i := range list.Items {
						objects = append(objects, &list.Items[i])
					}
				} else if u.GetKind() != "" && u.GetAPIVersion() != "" {
					objects = append(objects, u)
				}
			}
		}
	}
	return objects, nil
}

// missingNamespaces returns the namespaces of objects that no manifest creates, because kustomize or Helm
// often creates them, and the namespace of the namesakes.
func missingNamespaces(manifests []*unstructured.Unstructured) (missing []runtime.Object) {
	named, there := map[string]bool{otherNamespace: true}, map[string]bool{"default": true, "kube-system": true, "kube-public": true, "kube-node-lease": true}
	for _, m := range manifests {
		if m.GetKind() == "Namespace" {
			there[m.GetName()] = true
		}
		named[m.GetNamespace()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if name != "" && !there[name] {
			missing = append(missing, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	}
	return missing
}

// findUser finds the service account of the operator in the bindings of its roles.
func (i *installation) findUser() error {
	if i.config = (*fakecluster.Cluster).RESTConfig; len(i.subject.Roles) == 0 && i.subject.User == "" {
		return nil
	}
	account := i.subject.User
	if account == "" {
		accounts := map[string]bool{}
		for _, m := range i.manifests {
			if m.GetKind() != "ClusterRoleBinding" && m.GetKind() != "RoleBinding" {
				continue
			}
			subjects, _, _ := unstructured.NestedSlice(m.Object, "subjects")
			for _, s := range subjects {
				if subject, ok := s.(map[string]any); ok && subject["kind"] == "ServiceAccount" {
					namespace := subject["namespace"]
					if namespace == nil {
						namespace = m.GetNamespace()
					}
					accounts[fmt.Sprintf("%v/%v", namespace, subject["name"])] = true
				}
			}
		}
		switch names := slices.Sorted(maps.Keys(accounts)); len(names) {
		case 0:
			return fmt.Errorf("no binding in %s names a ServiceAccount: add the binding of the operator's role to Subject.Roles", strings.Join(slices.Concat(i.subject.Install, i.subject.Roles), ", "))
		case 1:
			account = names[0]
		default:
			return fmt.Errorf("the bindings in Subject.Roles name several ServiceAccounts: set Subject.User to the operator's, such as %q; they are %s", names[0], strings.Join(names, ", "))
		}
	}
	namespace, name, ok := strings.Cut(account, "/")
	if !ok {
		return fmt.Errorf("Subject.User is %q: it must be NAMESPACE/NAME of a ServiceAccount, such as system/website-operator", account)
	}
	if !slices.ContainsFunc(i.manifests, func(m *unstructured.Unstructured) bool {
		return m.GetKind() == "ServiceAccount" && m.GetNamespace() == namespace && m.GetName() == name
	}) {
		return fmt.Errorf("the operator's ServiceAccount %s is in no manifest: add its file to Subject.Install, or set Subject.User", account)
	}
	i.user = "system:serviceaccount:" + namespace + ":" + name
	i.config = func(c *fakecluster.Cluster) *rest.Config { return c.ServiceAccountConfig(namespace, name) }
	return nil
}

// findSeeds makes the seeds from the samples and the definitions.
func (e *operatorExploration) findSeeds() error {
	kinds, err := e.findKinds()
	if err != nil {
		return err
	}
	samples, err := readObjects(e.subject.Seeds)
	if err != nil {
		return fmt.Errorf("Subject.Seeds: %w", err)
	}
	if len(e.subject.Seeds) == 0 {
		for _, k := range kinds {
			if k.stored {
				samples = append(samples, k.minimal())
			}
		}
	}
	for _, sample := range samples {
		k := kindOf(kinds, sample)
		if k == nil {
			continue
		}
		if k.namespaced && sample.GetNamespace() == "" {
			sample.SetNamespace("default")
		}
		s := &seed{object: sample, schema: k.schema, observes: observes(k.schema), status: k.status, defined: k.defined, resource: k.GroupVersion().WithResource(k.resource)}
		s.name = state.Name(s.resource.GroupResource().String(), sample.GetNamespace(), sample.GetName())
		e.seeds = append(e.seeds, s)
	}
	if len(e.seeds) == 0 {
		return fmt.Errorf("there is no object of %s in Subject.Seeds (%s)", resourcesOf(kinds), strings.Join(e.subject.Seeds, ", "))
	}
	for _, s := range e.seeds {
		if err := e.findNeeds(s, kinds, samples); err != nil {
			return err
		}
	}
	for _, s := range e.seeds {
		s.neighbor, s.namesake = s.withNeighbor(s.object.GetName()+"-neighbor"), s.withNamesake()
		if long := s.withLongName(); long != nil {
			e.longSeeds = append(e.longSeeds, long)
		}
	}
	return nil
}

// findNeeds adds the samples of other kinds to the needs of a seed, except custom resources that need the
// seed themselves. Two samples that seem to need each other are kept, because they may only have the same
// name.
func (e *operatorExploration) findNeeds(s *seed, kinds []kind, samples []*unstructured.Unstructured) error {
	for _, sample := range samples {
		k := kindOf(kinds, sample)
		if sample.GroupVersionKind() == s.object.GroupVersionKind() || sample.GetKind() == "Namespace" || k != nil && dependsOn(sample, s.object, samples) && !dependsOn(s.object, sample, samples) {
			continue
		}
		n := need{object: sample}
		if k != nil {
			n.schema = k.schema
		}
		kind := sample.GroupVersionKind()
		mapping, err := e.base.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return fmt.Errorf("Subject.Seeds: %s %s: %w", kind.Kind, sample.GetName(), err)
		}
		if mapping.Scope.Name() == "namespace" && sample.GetNamespace() == "" {
			sample.SetNamespace("default")
		}
		n.name, n.resource = state.Name(mapping.Resource.GroupResource().String(), sample.GetNamespace(), sample.GetName()), mapping.Resource
		s.needs = append(s.needs, n)
	}
	return nil
}

// objectsIn returns the resourceVersions of all objects of a cluster by their names.
func objectsIn(c *fakecluster.Cluster) (map[string]string, error) {
	present := map[string]string{}
	lists, err := discovery.ServerPreferredResources(c.Discovery())
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // the kinds of an aggregated API that is not available are left out
		return nil, err
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || strings.Contains(r.Name, "/") {
				continue
			}
			objects, err := c.Dynamic().Resource(version.WithResource(r.Name)).List(context.Background(), metav1.ListOptions{})
			if err != nil {
				continue // such as a kind that the server computes
			}
			for i := range objects.Items {
				o := state.Object{Resource: version.WithResource(r.Name).GroupResource().String(), Unstructured: &objects.Items[i]}
				present[o.Name()] = o.GetResourceVersion()
			}
		}
	}
	return present, nil
}
