package fakecluster_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func configMap(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name, "namespace": "default"},
	}}
}

// removeBy deletes an object with a propagation policy.
func removeBy(t testing.TB, r dynamic.ResourceInterface, name string, policy metav1.DeletionPropagation) {
	t.Helper()
	must(t, r.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}))
}

func TestGarbageIsCollectedOnTheClockOfABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := defined(t, fakecluster.InProcess(), withCollection())
		cms := c.Dynamic().Resource(configMaps).Namespace("default")
		owner := create(t, inDefault(c), cronTab("owner"))
		held := configMap("held")
		held.SetFinalizers([]string{"example.com/hold"})
		create(t, cms, ownedBy(held, owner))
		create(t, cms, ownedBy(configMap("free"), owner))

		time.Sleep(time.Hour) // of the bubble's time
		start := metav1.Now().Rfc3339Copy()
		removeBy(t, inDefault(c), "owner", metav1.DeletePropagationForeground)
		equal(t, "dependents", names(list(t, cms)), []string{"held"})
		for which, u := range map[string]*unstructured.Unstructured{"owner": get(t, inDefault(c), "owner"), "dependent": get(t, cms, "held")} {
			equal(t, which+" is deleted now", u.GetDeletionTimestamp().Equal(&start), true)
		}
		setFinalizers(t, cms, "held")
		equal(t, "dependents", names(list(t, cms)), []string{})
		equal(t, "owners", names(list(t, inDefault(c))), []string{})
	})
}

// The collector writes as the program that it is part of on a real server.
func TestTheCollectorOwnsTheFieldsThatItSets(t *testing.T) {
	c := defined(t, fakecluster.InProcess(), withCollection())
	cms := c.Dynamic().Resource(configMaps).Namespace("default")
	a := create(t, inDefault(c), cronTab("a"))
	held := configMap("b")
	held.SetFinalizers([]string{"example.com/hold"})
	b := create(t, cms, ownedBy(held, a))
	_, err := inDefault(c).Update(t.Context(), ownedBy(a, b), metav1.UpdateOptions{})
	must(t, err)

	removeBy(t, inDefault(c), "a", metav1.DeletePropagationForeground)
	b = get(t, cms, "b")
	equal(t, "it blocks nothing any more", *b.GetOwnerReferences()[0].BlockOwnerDeletion, false)
	var managers []string
	for _, entry := range b.GetManagedFields() {
		managers = append(managers, fmt.Sprint(entry.Manager, " ", entry.Operation))
	}
	equal(t, "managers", managers, []string{"fakecluster.test Update", "kube-controller-manager Update"})
	equal(t, "its owner is gone", names(list(t, inDefault(c))), []string{})
}

func TestManyDependents(t *testing.T) {
	n := seedtest.Cases(2000)
	for policy, want := range map[metav1.DeletionPropagation]int{
		metav1.DeletePropagationBackground: 0, metav1.DeletePropagationForeground: 0, metav1.DeletePropagationOrphan: n,
	} {
		t.Run(string(policy), func(t *testing.T) {
			c := defined(t, fakecluster.InProcess(), withCollection())
			cms := c.Dynamic().Resource(configMaps).Namespace("default")
			owner := create(t, inDefault(c), cronTab("owner"))
			for i := range n {
				create(t, cms, ownedBy(configMap(fmt.Sprint("dependent-", i)), owner))
			}
			removeBy(t, inDefault(c), "owner", policy)
			equal(t, "owners", names(list(t, inDefault(c))), []string{})
			left := list(t, cms).Items
			equal(t, "dependents", len(left), want)
			for _, u := range left {
				if len(u.GetOwnerReferences()) > 0 {
					t.Fatalf("%s still has an owner", u.GetName())
				}
			}
		})
	}
}

// lockable has the definition refuse updates of an object whose image is "locked",
// the collector's too, until somebody makes it "open".
func lockable() *apiextensionsv1.CustomResourceDefinition {
	crd := cronTabDefinition()
	properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	spec := properties["spec"]
	spec.XValidations = apiextensionsv1.ValidationRules{{Rule: "self.image == 'open' || oldSelf.image != 'locked'"}}
	properties["spec"] = spec
	return crd
}

func locked(name string, owners ...*unstructured.Unstructured) *unstructured.Unstructured {
	u := ownedBy(cronTab(name), owners...)
	u.Object["spec"].(object)["image"] = "locked"
	return u
}

func owners(u *unstructured.Unstructured) []string {
	found := []string{}
	for _, owner := range u.GetOwnerReferences() {
		found = append(found, owner.Name)
	}
	return found
}

func TestARefusedStepOfTheCollectorIsRepeatedAtTheNextRelatedWrite(t *testing.T) {
	start := func(t *testing.T) (c *fakecluster.Cluster, cms dynamic.ResourceInterface, a, b *unstructured.Unstructured) {
		c = fakecluster.Start(t, fakecluster.InProcess(), withCollection())
		define(t, c, lockable())
		cms = c.Dynamic().Resource(configMaps).Namespace("default")
		return c, cms, create(t, cms, configMap("a")), create(t, cms, configMap("b"))
	}
	loosen := func(t *testing.T, c *fakecluster.Cluster) {
		crd := getDefinition(t, c, definition)
		crd.Spec.Versions = cronTabDefinition().Spec.Versions
		_, err := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Update(t.Context(), crd, metav1.UpdateOptions{})
		must(t, err)
	}
	t.Run("of the object", func(t *testing.T) {
		c, cms, a, b := start(t)
		u := create(t, inDefault(c), locked("dependent", a, b))
		remove(t, cms, "a")
		equal(t, "owners", owners(get(t, inDefault(c), "dependent")), []string{"a", "b"})
		fork := c.Fork(t)
		equal(t, "owners in a fork", owners(get(t, inDefault(fork), "dependent")), []string{"a", "b"})
		for _, cluster := range []*fakecluster.Cluster{c, fork} {
			change(t, inDefault(cluster), u, "open")
			equal(t, "owners after the write", owners(get(t, inDefault(cluster), "dependent")), []string{"b"})
		}
	})
	t.Run("of its definition", func(t *testing.T) {
		c, cms, a, b := start(t)
		create(t, inDefault(c), locked("dependent", a, b))
		remove(t, cms, "a")
		loosen(t, c)
		equal(t, "owners", owners(get(t, inDefault(c), "dependent")), []string{"b"})
	})
	t.Run("of an owner that waits", func(t *testing.T) {
		c, cms, a, _ := start(t)
		create(t, inDefault(c), locked("locked", a))
		create(t, inDefault(c), ownedBy(cronTab("other"), a))
		removeBy(t, cms, "a", metav1.DeletePropagationOrphan)
		equal(t, "finalizers", get(t, cms, "a").GetFinalizers(), []string{"orphan"})
		equal(t, "owners of the one", owners(get(t, inDefault(c), "locked")), []string{"a"})
		equal(t, "owners of the other", owners(get(t, inDefault(c), "other")), []string{})

		change(t, inDefault(c), get(t, inDefault(c), "locked"), "open")
		equal(t, "finalizers after a write of the dependent", get(t, cms, "a").GetFinalizers(), []string{"orphan"})
		waiting := get(t, cms, "a")
		waiting.SetLabels(map[string]string{"written": "again"})
		_, err := cms.Update(t.Context(), waiting, metav1.UpdateOptions{})
		must(t, err)
		equal(t, "left", names(list(t, cms)), []string{"b"})
		equal(t, "owners", owners(get(t, inDefault(c), "locked")), []string{})
	})
}

// nothingLeft fails unless the collector has completed its work in the namespace "default": every
// reference names an object that exists, and every object that waits for the collector has a
// dependent to wait for.
func nothingLeft(t *testing.T, c *fakecluster.Cluster, when string) {
	t.Helper()
	objects := slices.Concat(list(t, inDefault(c)).Items, list(t, c.Dynamic().Resource(configMaps).Namespace("default")).Items)
	present := map[types.UID]bool{}
	blocked := map[types.UID]bool{}
	for _, u := range objects {
		present[u.GetUID()] = true
		for _, owner := range u.GetOwnerReferences() {
			blocked[owner.UID] = blocked[owner.UID] || *owner.BlockOwnerDeletion
		}
	}
	for _, u := range objects {
		if u.GetDeletionTimestamp() == nil {
			for _, owner := range u.GetOwnerReferences() {
				if !present[owner.UID] {
					t.Errorf("%s: %s %s refers to %s, which is gone", when, u.GetKind(), u.GetName(), owner.Name)
				}
			}
			continue
		}
		if f := u.GetFinalizers(); slices.Contains(f, "orphan") || slices.Contains(f, "foregroundDeletion") && !blocked[u.GetUID()] {
			t.Errorf("%s: %s %s waits for nothing: %v", when, u.GetKind(), u.GetName(), f)
		}
	}
}

func TestConcurrentWritersLeaveNoGarbage(t *testing.T) {
	for rule, opts := range map[string][]fakecluster.Option{
		"with all of the history": nil, "with hardly any": {fakecluster.WithWatchHistory(20, 0)},
	} {
		t.Run(rule, func(t *testing.T) {
			writeAndCollect(t, defined(t, append(opts, fakecluster.InProcess(), withCollection())...))
		})
	}
}

func writeAndCollect(t *testing.T, c *fakecluster.Cluster) {
	resources := []dynamic.ResourceInterface{inDefault(c), c.Dynamic().Resource(configMaps).Namespace("default")}
	object := func(name string, kind int) *unstructured.Unstructured {
		if kind == 0 {
			return cronTab(name)
		}
		return configMap(name)
	}
	tolerable := func(err error) {
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsInvalid(err) {
			t.Error(err)
		}
	}
	policies := []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	}
	seed := seedtest.Seed(t)
	var writers sync.WaitGroup
	for writer := range 8 {
		writers.Go(func() {
			random := seedtest.Source(seed, writer)
			for n := range 150 {
				// Owners come before their dependents, so that there are no circles. As on
				// a real server, objects in a circle may wait for each other without end
				// if they are deleted at the same time.
				kind, number := random.IntN(2), random.IntN(16)
				name, resource := fmt.Sprint("object-", number), resources[kind]
				switch random.IntN(6) {
				case 0, 1, 2:
					u := object(name, kind)
					var named []*unstructured.Unstructured
					for range random.IntN(min(4, number+1)) {
						owner, err := resources[random.IntN(2)].Get(t.Context(), fmt.Sprint("object-", random.IntN(number)), metav1.GetOptions{})
						if tolerable(err); err == nil {
							named = append(named, owner)
						}
					}
					if ownedBy(u, named...); random.IntN(3) == 0 {
						u.SetFinalizers([]string{"example.com/hold"})
					}
					_, err := resource.Create(t.Context(), u, metav1.CreateOptions{})
					tolerable(err)
					if err != nil && n%2 == 0 { // there is one: it gets other owners
						if u, err = resource.Get(t.Context(), name, metav1.GetOptions{}); err == nil {
							_, err = resource.Update(t.Context(), ownedBy(u, named...), metav1.UpdateOptions{})
						}
						tolerable(err)
					}
				case 3, 4:
					tolerable(resource.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policies[random.IntN(3)]}))
				case 5:
					_, err := resource.Patch(t.Context(), name, types.JSONPatchType,
						[]byte(`[{"op":"test","path":"/metadata/finalizers/0","value":"example.com/hold"},{"op":"remove","path":"/metadata/finalizers/0"}]`), metav1.PatchOptions{})
					tolerable(err)
				}
				if writer == 0 && n%10 == 0 {
					nothingLeft(t, c.Fork(t), fmt.Sprintf("in a fork after %d writes", n))
				}
			}
		})
	}
	writers.Wait()
	nothingLeft(t, c, "at rest")
	nothingLeft(t, c.Fork(t), "in a fork at rest")
	for _, resource := range resources {
		for _, u := range list(t, resource).Items {
			if slices.Contains(u.GetFinalizers(), "example.com/hold") {
				_, err := resource.Patch(t.Context(), u.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
				tolerable(err)
			}
		}
	}
	nothingLeft(t, c, "without finalizers")
	for _, resource := range resources {
		for _, u := range list(t, resource).Items {
			if u.GetDeletionTimestamp() != nil {
				t.Errorf("%s %s is still being deleted: %v", u.GetKind(), u.GetName(), u.Object["metadata"])
			}
		}
	}
}

// A reference to an owner in another namespace is no reference: the object is garbage, and an Event says why it has gone. One to an owner that is
// nowhere has no Event.
func TestAnOwnerInAnotherNamespaceIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), withCollection())
		elsewhere := configMap("owner")
		elsewhere.SetNamespace("kube-system")
		owner := create(t, c.Dynamic().Resource(configMaps).Namespace("kube-system"), elsewhere)
		cms := c.Dynamic().Resource(configMaps).Namespace("default")
		child := create(t, cms, ownedBy(configMap("child"), owner))
		nowhere := owner.DeepCopy()
		nowhere.SetUID("none")
		create(t, cms, ownedBy(configMap("other"), nowhere))
		equal(t, "ConfigMaps", names(list(t, cms)), []string{})
		events := list(t, c.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"}).Namespace("default"))
		equal(t, "the number of Events", len(events.Items), 1)
		event := events.Items[0].Object
		involved, _, _ := unstructured.NestedStringMap(event, "involvedObject")
		equal(t, "the object", involved, map[string]string{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "child", "uid": string(child.GetUID())})
		equal(t, "the reason", event["reason"], any("OwnerRefInvalidNamespace"))
		equal(t, "the message", event["message"], any(fmt.Sprintf(`ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: %s] does not exist in namespace "default"`, owner.GetUID())))
	})
}
