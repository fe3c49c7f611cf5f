// Package dump loads the objects of a real cluster, as kubectl get -o yaml writes them, into another cluster.
package dump

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/fakecluster/fakecluster/internal/manifests"
)

// Cluster is where a dump is loaded: a fakecluster.Cluster.
type Cluster interface {
	Dynamic() dynamic.Interface
	RESTMapper() meta.RESTMapper
}

// Load creates objects, with their status. Owners come before what they own, and keep owning it. It leaves out what is there already, what
// cannot be in another cluster, and what the server refuses. It returns the latter two, each with the reason: "secrets default/token: …".
func Load(c Cluster, objects []*unstructured.Unstructured) (left []string) {
	l := &loader{Cluster: c, uids: map[string]types.UID{}, missing: map[string]bool{}}
	pending := slices.Clone(objects)
	slices.SortStableFunc(pending, func(a, b *unstructured.Unstructured) int { return cmp.Compare(order(a), order(b)) })
	for _, u := range pending {
		l.missing[string(u.GetUID())] = true
	}
	for len(pending) > 0 {
		var waiting []*unstructured.Unstructured
		for _, u := range pending {
			if l.waitsForOwner(u) {
				waiting = append(waiting, u)
				continue
			}
			if why := l.load(u); why != "" {
				l.left = append(l.left, fmt.Sprintf("%s %s: %s", u.GetKind(), nameOf(u), why))
			}
			delete(l.missing, string(u.GetUID()))
		}
		if len(waiting) == len(pending) { // they own each other
			l.missing = map[string]bool{}
		}
		pending = waiting
	}
	return l.left
}

// order is the place of an object among those that are installed. The claim of a volume has to be there before.
func order(u *unstructured.Unstructured) int {
	step := 2 * manifests.InstallStep(u.GroupVersionKind().GroupKind())
	if u.GetKind() == "PersistentVolume" {
		step++
	}
	return step
}

func nameOf(u *unstructured.Unstructured) string {
	if u.GetNamespace() == "" {
		return u.GetName()
	}
	return u.GetNamespace() + "/" + u.GetName()
}

type loader struct {
	Cluster
	uids    map[string]types.UID // of loaded objects, by those in the dump
	missing map[string]bool      // uids of objects that are still to be loaded
	left    []string
}

// waitsForOwner reports whether an owner of an object comes later.
func (l *loader) waitsForOwner(u *unstructured.Unstructured) bool {
	return slices.ContainsFunc(u.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return l.missing[string(r.UID)] })
}

// load creates an object. It returns why that was not possible.
func (l *loader) load(u *unstructured.Unstructured) (why string) {
	if why := unfit(u); why != "" {
		return why
	}
	mapping, err := l.RESTMapper().RESTMapping(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version)
	if err != nil {
		return err.Error()
	}
	objects := dynamic.ResourceInterface(l.Dynamic().Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		objects = l.Dynamic().Resource(mapping.Resource).Namespace(u.GetNamespace())
	}
	created, err := objects.Create(context.Background(), l.fresh(u), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if there, err := objects.Get(context.Background(), u.GetName(), metav1.GetOptions{}); err == nil {
			l.uids[string(u.GetUID())] = there.GetUID()
		}
		return ""
	}
	if err != nil {
		return err.Error()
	}
	l.uids[string(u.GetUID())] = created.GetUID()
	return l.loadStatus(objects, u, created)
}

// loadStatus writes the status, which is about the generation that the object has now.
func (l *loader) loadStatus(objects dynamic.ResourceInterface, u, created *unstructured.Unstructured) (why string) {
	status, ok := u.Object["status"].(map[string]any)
	if !ok || len(status) == 0 || u.GetKind() == "CustomResourceDefinition" || u.GetKind() == "Namespace" {
		return ""
	}
	status = runtime.DeepCopyJSON(status)
	observe(status, u.GetGeneration(), created.GetGeneration())
	created.Object["status"] = status
	_, err := objects.UpdateStatus(context.Background(), created, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) { // the kind has no subresource status
		return "its status: " + err.Error()
	}
	return ""
}

// observe replaces an observed generation in a status and its conditions.
func observe(status map[string]any, before, after int64) {
	replace := func(object map[string]any) {
		if object["observedGeneration"] == before {
			object["observedGeneration"] = after
		}
	}
	replace(status)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			replace(condition)
		}
	}
}

// unfit returns why an object of a real cluster cannot be in another one; empty: it can.
func unfit(u *unstructured.Unstructured) string {
	switch group := u.GroupVersionKind().Group; {
	case u.GetDeletionTimestamp() != nil:
		return "it is being deleted"
	case u.GetKind() == "Event":
		return "it is about what has happened"
	case group == "coordination.k8s.io":
		return "a process of the real cluster renews it"
	case group == "admissionregistration.k8s.io" && (u.GetKind() == "MutatingWebhookConfiguration" || u.GetKind() == "ValidatingWebhookConfiguration"):
		return "nothing serves its webhooks; give those of the operator to Subject.Options"
	case group == "apiregistration.k8s.io":
		return "nothing serves it"
	case u.GetKind() == "Secret" && u.Object["type"] == "kubernetes.io/service-account-token":
		return "its token is of the real cluster"
	}
	return ""
}

// serverMade are the fields of the metadata that a client cannot set, or that are of another cluster.
var serverMade = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"}

// fresh returns an object as it can be created.
func (l *loader) fresh(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	for _, field := range serverMade {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	var owners []metav1.OwnerReference
	for _, r := range u.GetOwnerReferences() {
		if uid := l.uids[string(r.UID)]; uid != "" { // otherwise the garbage collector deletes the object
			r.UID = uid
			owners = append(owners, r)
		}
	}
	u.SetOwnerReferences(owners)
	unstructured.RemoveNestedField(u.Object, "status") // loadStatus writes it
	switch u.GetKind() {
	case "CustomResourceDefinition": // nothing serves its webhook
		if strategy, _, _ := unstructured.NestedString(u.Object, "spec", "conversion", "strategy"); strategy == "Webhook" {
			u.Object["spec"].(map[string]any)["conversion"] = map[string]any{"strategy": "None"}
		}
	case "Service": // the addresses are of another network
		if ip, _, _ := unstructured.NestedString(u.Object, "spec", "clusterIP"); ip != "None" {
			unstructured.RemoveNestedField(u.Object, "spec", "clusterIP")
			unstructured.RemoveNestedField(u.Object, "spec", "clusterIPs")
		}
	case "PersistentVolume":
		if uid, _, _ := unstructured.NestedString(u.Object, "spec", "claimRef", "uid"); l.uids[uid] != "" {
			_ = unstructured.SetNestedField(u.Object, string(l.uids[uid]), "spec", "claimRef", "uid")
		}
	case "Secret":
		encode(u)
	}
	return u
}

// encode encodes the values of a Secret that were replaced by plain text.
func encode(secret *unstructured.Unstructured) {
	data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if _, err := base64.StdEncoding.DecodeString(data[key]); err != nil {
			data[key] = base64.StdEncoding.EncodeToString([]byte(data[key]))
		}
	}
	if len(data) > 0 {
		_ = unstructured.SetNestedStringMap(secret.Object, data, "data")
	}
}
