package builtin

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
)

func aNamespace(phase corev1.NamespacePhase, finalizers ...corev1.FinalizerName) *corev1.Namespace {
	return &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "team", ResourceVersion: "1"},
		Spec:       corev1.NamespaceSpec{Finalizers: finalizers},
		Status:     corev1.NamespaceStatus{Phase: phase},
	}
}

func deleted(ns *corev1.Namespace) *corev1.Namespace {
	ns.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return ns
}

func TestPreparingANamespace(t *testing.T) {
	v := builtIn(t, "namespaces", false).Storage
	s := v.Strategy
	created := internal(t, v, aNamespace("Chosen", "example.com/own"))
	s.PrepareForCreate(context.Background(), created)
	if diff := cmp.Diff(aNamespace("Active", "example.com/own", "kubernetes"), versioned(t, v, created, &corev1.Namespace{})); diff != "" {
		t.Errorf("a new namespace is Active and has the finalizer kubernetes (-want +got):\n%s", diff)
	}
	s.Canonicalize(created)
	if got := created.(metav1.Object).GetLabels()["kubernetes.io/metadata.name"]; got != "team" {
		t.Errorf("the label with its name is %q", got)
	}

	sub := v.Subresource
	for _, c := range []struct {
		name     string
		strategy registryrest.RESTUpdateStrategy
		want     *corev1.Namespace
	}{
		{"an update of the namespace changes neither finalizers nor status", s, aNamespace("Active", "kubernetes")},
		{"an update of the status changes the status alone", sub["status"].Strategy, aNamespace("Terminating", "kubernetes")},
		{"finalize changes the finalizers alone", sub["finalize"].Strategy, aNamespace("Active", "example.com/new")},
	} {
		t.Run(c.name, func(t *testing.T) {
			ns := internal(t, v, aNamespace("Terminating", "example.com/new"))
			c.strategy.PrepareForUpdate(context.Background(), ns, internal(t, v, aNamespace("Active", "kubernetes")))
			if diff := cmp.Diff(c.want, versioned(t, v, ns, &corev1.Namespace{})); diff != "" {
				t.Errorf("namespace (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidatingANamespace(t *testing.T) {
	v := builtIn(t, "namespaces", false).Storage
	for _, c := range []struct {
		name     string
		strategy registryrest.RESTUpdateStrategy
		ns       *corev1.Namespace
		want     []string
	}{
		{"finalizers are standard or qualified names", v.Strategy, aNamespace("Active", "kubernetes", "orphan", "foregroundDeletion", "example.com/own"), nil},
		{"any other finalizer is refused", v.Strategy, aNamespace("Active", "own"),
			[]string{`spec.finalizers: Invalid value: "own": name is neither a standard finalizer name nor is it fully qualified`}},
		{"finalize names the finalizer's place", v.Subresource["finalize"].Strategy, aNamespace("Active", "kubernetes", "own"),
			[]string{`spec.finalizers[1]: Invalid value: "own": name is neither a standard finalizer name nor is it fully qualified`}},
		{"a namespace that is not deleted is Active", v.Subresource["status"].Strategy, aNamespace("Terminating"),
			[]string{"status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"}},
		{"one that is deleted is Terminating", v.Subresource["status"].Strategy, deleted(aNamespace("Active")),
			[]string{"status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, err := range c.strategy.ValidateUpdate(background("", "namespaces"), internal(t, v, c.ns), internal(t, v, c.ns)) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeletingANamespace(t *testing.T) {
	v := builtIn(t, "namespaces", false).Storage
	first := v.ContentFirst
	now := metav1.NewTime(time.Unix(7, 0))
	ns := internal(t, v, aNamespace("Active", "kubernetes"))
	first.Begin(ns, now)
	want := aNamespace("Terminating", "kubernetes")
	want.DeletionTimestamp = &now
	if diff := cmp.Diff(want, versioned(t, v, ns, &corev1.Namespace{})); diff != "" {
		t.Errorf("its deletion begins (-want +got):\n%s", diff)
	}
	first.Begin(ns, metav1.NewTime(time.Unix(8, 0)))
	if marked := ns.(metav1.Object).GetDeletionTimestamp(); !marked.Equal(&now) {
		t.Errorf("a second delete sets the time again: %v", marked)
	}
	for _, c := range []struct {
		name string
		ns   runtime.Object
		want bool
	}{{"a finalizer stands for its content", ns, true}, {"without one it is empty", internal(t, v, aNamespace("Terminating")), false}} {
		if got := first.Remains(c.ns); got != c.want {
			t.Errorf("%s: content remains: %v", c.name, got)
		}
	}
}

func TestANamespaceIsLabelledWithItsNameWhenItIsDecoded(t *testing.T) {
	codec := builtIn(t, "namespaces", false).Storage.Codec
	for body, want := range map[string]string{
		`{"metadata":{"name":"team"}}`:                                              "team",
		`{"metadata":{"name":"team","labels":{"kubernetes.io/metadata.name":"x"}}}`: "team",
		`{"metadata":{"generateName":"team-"}}`:                                     "",
	} {
		info, _ := runtime.SerializerInfoForMediaType(builtIn(t, "namespaces", false).Storage.Serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
		obj, _, err := codec.Decode([]byte(body), info.Serializer)
		if err != nil {
			t.Fatal(err)
		}
		if got := obj.Object.(metav1.Object).GetLabels()["kubernetes.io/metadata.name"]; got != want {
			t.Errorf("%s: the label is %q, want %q", body, got, want)
		}
	}
}

func TestOnlyANamespaceIsInItself(t *testing.T) {
	var got []string
	for _, r := range Resources(Options{LegacyAPIs: true}, nil) {
		if r.NamespaceOfItself {
			got = append(got, r.GroupResource().String())
		}
	}
	if diff := cmp.Diff([]string{"namespaces"}, got); diff != "" {
		t.Errorf("the kinds whose objects are namespaces (-want +got):\n%s", diff)
	}
}
