package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/controller"
	"github.com/fakecluster/fakecluster/store"
)

// started returns a server that has begun. A message of a controller that has failed fails the test.
func started(t *testing.T, o Options) *Cluster {
	t.Helper()
	s, err := store.Open(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Token = "token"
	c, err := New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	c.Messages.To(func(message string) { t.Error(message) })
	t.Cleanup(func() {
		c.Close()
		_ = s.Close()
	})
	c.History.Forget()
	return c
}

// writes returns who has written what since the server has begun.
func (c *Cluster) writes() (lines []string) {
	for _, q := range c.History.Requests() {
		lines = append(lines, fmt.Sprintf("%s %s %s", q.User, q.Verb, q.Resource))
	}
	return lines
}

// names returns the names of the objects of a resource.
func names(t *testing.T, c *Cluster, resource, namespace string) (names []string) {
	t.Helper()
	objects, err := c.Kinds.Objects(schema.GroupResource{Resource: resource}, namespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objects {
		m, err := meta.Accessor(obj)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, m.GetName())
	}
	return names
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func create(t *testing.T, c *Cluster, resource schema.GroupResource, namespace string, obj runtime.Object) {
	t.Helper()
	if err := c.Kinds.Create(resource, namespace, obj); err != nil {
		t.Fatal(err)
	}
}

var crons = &apiextensionsv1.CustomResourceDefinition{
	ObjectMeta: metav1.ObjectMeta{Name: "crons.example.com"},
	Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "crons", Singular: "cron", Kind: "Cron", ListKind: "CronList"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}}},
	},
}

func TestANewServerHasItsNamespaces(t *testing.T) {
	c := started(t, Options{})
	if diff := cmp.Diff([]string{"default", "kube-node-lease", "kube-public", "kube-system"}, names(t, c, "namespaces", "")); diff != "" {
		t.Error(diff)
	}
}

// The controllers of the server act before a write returns: the kind of a definition is served then.
func TestADefinitionIsServedWhenItIsCreated(t *testing.T) {
	c := started(t, Options{})
	create(t, c, apiextensionsv1.Resource("customresourcedefinitions"), "", crons)
	if c.Registry().Resource("example.com", "crons") == nil {
		t.Error("it is not served")
	}
	if !slices.ContainsFunc(c.writes(), func(line string) bool { return strings.HasSuffix(line, " customresourcedefinitions") }) || len(c.writes()) < 2 {
		t.Errorf("the server's own writes are taken down: %q", c.writes())
	}
}

// The objects and kinds of a fork are those of its origin; later writes are separate.
func TestAForkGoesOnByItself(t *testing.T) {
	c := started(t, Options{})
	create(t, c, apiextensionsv1.Resource("customresourcedefinitions"), "", crons)
	create(t, c, corev1.Resource("configmaps"), "default", configMap("both"))
	forkedStore, err := c.Store.Fork()
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Fork(forkedStore, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer forkedStore.Close()
	defer f.Close()
	create(t, c, corev1.Resource("configmaps"), "default", configMap("of-the-origin"))
	create(t, f, corev1.Resource("configmaps"), "default", configMap("of-the-fork"))
	if got, origin := f.Registry().Resource("example.com", "crons"), c.Registry().Resource("example.com", "crons"); got == nil || got != origin {
		t.Errorf("the kind is made again: %p, %p", got, origin)
	}
	if diff := cmp.Diff([][]string{{"both", "of-the-origin"}, {"both", "of-the-fork"}}, [][]string{names(t, c, "configmaps", "default"), names(t, f, "configmaps", "default")}); diff != "" {
		t.Error(diff)
	}
}

// The history of a kind in a fork begins with its definition, even if the origin has meanwhile deleted the definition and
// created it again.
func TestForkKeepsTheHistoryOfAKindThatTheOriginDefinesAgain(t *testing.T) {
	c := started(t, Options{})
	create(t, c, definitions, "", crons)
	revision := c.Store.Revision()
	if _, err := c.own.Put(t.Context(), definitions, "", crons.Name, func(obj runtime.Object) (runtime.Object, error) {
		obj.(metav1.Object).SetLabels(map[string]string{"a": "b"})
		return obj, nil
	}); err != nil {
		t.Fatal(err)
	}
	forkedStore, err := c.Store.Fork()
	if err != nil {
		t.Fatal(err)
	}
	defer forkedStore.Close()
	if err := c.Kinds.Delete(definitions, "", crons.Name); err != nil {
		t.Fatal(err)
	}
	create(t, c, definitions, "", crons.DeepCopy())
	f, err := c.Fork(forkedStore, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Registry().Resource("example.com", "crons").Remembers(revision); err != nil {
		t.Errorf("the fork has forgotten revision %d: %v", revision, err)
	}
}

// Controllers act by their names: those of the options, and those that Act adds.
func TestControllersAct(t *testing.T) {
	c := started(t, Options{Controllers: []string{string(controller.Namespaces)}})
	if !c.Acts(string(controller.Namespaces)) || c.Acts(string(controller.ServiceAccounts)) {
		t.Error("those of the options act")
	}
	if err := c.Act([]string{string(controller.ServiceAccounts)}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"default"}, names(t, c, "serviceaccounts", "kube-public")); diff != "" {
		t.Errorf("the ServiceAccounts of namespaces that exist: %s", diff)
	}
	const line = "system:serviceaccount:kube-system:service-account-controller create serviceaccounts"
	if !slices.Contains(c.writes(), line) {
		t.Errorf("%q is not among %q", line, c.writes())
	}
	if err := c.Act([]string{"none"}); err == nil {
		t.Error("an unknown controller is no error")
	}
}

func TestContradictingOptionsAreErrors(t *testing.T) {
	for want, o := range map[string]Options{
		"runtime config: ": {RuntimeConfig: []string{"apps/v1=perhaps"}},
		"none":             {Controllers: []string{"none"}},
		"Unknown":          {EnableAdmissionPlugins: []string{"Unknown"}},
	} {
		s, err := store.Open(store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		o.Token = "token"
		if _, err := New(s, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %q", err, want)
		}
		_ = s.Close()
	}
}

func TestAServerNeedsAToken(t *testing.T) {
	s, err := store.Open(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := New(s, Options{}); err == nil {
		t.Error("New without a token succeeded")
	}
}
