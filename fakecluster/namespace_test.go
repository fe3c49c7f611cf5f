package fakecluster_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func namespaceStatus(t testing.TB, u *unstructured.Unstructured) corev1.NamespaceStatus {
	t.Helper()
	var ns corev1.Namespace
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &ns))
	return ns.Status
}

func TestNamespacesExistFromTheStart(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	listed := list(t, c.Dynamic().Resource(namespaces))
	equal(t, "namespaces", names(listed), []string{"default", "kube-node-lease", "kube-public", "kube-system"})
	for _, u := range listed.Items {
		got := fixed(t, &u)
		delete(got["metadata"].(object), "resourceVersion")
		equal(t, u.GetName(), got, object{
			"apiVersion": "v1", "kind": "Namespace",
			"metadata": object{"name": u.GetName(), "labels": object{"kubernetes.io/metadata.name": u.GetName()}},
			"spec":     object{"finalizers": []any{"kubernetes"}},
			"status":   object{"phase": "Active"},
		})
	}
}

func TestNamespacesThatEveryClusterNeedsCannotBeDeleted(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	everywhere := c.Dynamic().Resource(namespaces)
	for _, name := range []string{"default", "kube-system", "kube-public"} {
		err := everywhere.Delete(t.Context(), name, metav1.DeleteOptions{})
		fails(t, name, err, `namespaces "`+name+`" is forbidden: this namespace may not be deleted`)
		equal(t, "it is so", apierrors.IsForbidden(err), true)
	}
	remove(t, everywhere, "kube-node-lease")
	equal(t, "left", names(list(t, everywhere)), []string{"default", "kube-public", "kube-system"})
}

func TestDeletedNamespaceTakesItsObjectsAlong(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	everywhere := c.Dynamic().Resource(namespaces)
	create(t, everywhere, newNamespace("team"))
	create(t, inDefault(c), cronTab("kept"))
	inTeam := c.Dynamic().Resource(cronTabs).Namespace("team")
	for _, name := range []string{"a", "b"} {
		u := cronTab(name)
		u.SetNamespace("team")
		create(t, inTeam, u)
	}

	remove(t, everywhere, "team")
	_, err := everywhere.Get(t.Context(), "team", metav1.GetOptions{})
	fails(t, "namespace", err, `namespaces "team" not found`)
	equal(t, "objects", names(list(t, c.Dynamic().Resource(cronTabs))), []string{"kept"})

	create(t, everywhere, newNamespace("team"))
	equal(t, "objects of a namespace that is created again", names(list(t, inTeam)), []string{})
}

func TestNamespaceIsTerminatingWhileFinalizersRemain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for its clock
		c := defined(t, fakecluster.InProcess())
		everywhere := c.Dynamic().Resource(namespaces)
		create(t, everywhere, newNamespace("team"))
		inTeam := c.Dynamic().Resource(cronTabs).Namespace("team")
		for name, finalizers := range map[string][]string{"a": {"example.com/x", "example.com/y"}, "b": {"example.com/x"}, "c": nil} {
			u := cronTab(name)
			u.SetNamespace("team")
			u.SetFinalizers(finalizers)
			create(t, inTeam, u)
		}

		start := metav1.Now().Rfc3339Copy()
		remove(t, everywhere, "team")
		equal(t, "objects", names(list(t, inTeam)), []string{"a", "b"})
		for _, u := range list(t, inTeam).Items {
			equal(t, "deletionTimestamp", u.GetDeletionTimestamp().Equal(&start), true)
		}
		condition := func(c corev1.NamespaceConditionType, status corev1.ConditionStatus, reason, message string) corev1.NamespaceCondition {
			return corev1.NamespaceCondition{Type: c, Status: status, LastTransitionTime: start, Reason: reason, Message: message}
		}
		want := corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating, Conditions: []corev1.NamespaceCondition{
			condition(corev1.NamespaceDeletionDiscoveryFailure, "False", "ResourcesDiscovered", "All resources successfully discovered"),
			condition(corev1.NamespaceDeletionGVParsingFailure, "False", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
			condition(corev1.NamespaceDeletionContentFailure, "False", "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
			condition(corev1.NamespaceContentRemaining, "True", "SomeResourcesRemain",
				"Some resources are remaining: crontabs.stable.example.com has 2 resource instances"),
			condition(corev1.NamespaceFinalizersRemaining, "True", "SomeFinalizersRemain",
				"Some content in the namespace has finalizers remaining: example.com/x in 2 resource instances, example.com/y in 1 resource instances"),
		}}
		equal(t, "status", namespaceStatus(t, get(t, everywhere, "team")), want)

		u := cronTab("d")
		u.SetNamespace("team")
		_, err := inTeam.Create(t.Context(), u, metav1.CreateOptions{})
		status, _ := errors.AsType[*apierrors.StatusError](err)
		if status == nil {
			t.Fatalf("create in a terminating namespace: %v", err)
		}
		equal(t, "create in a terminating namespace", status.ErrStatus, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden,
			Message: `crontabs.stable.example.com "d" is forbidden: unable to create new content in namespace team because it is being terminated`,
			Details: &metav1.StatusDetails{
				Name: "d", Group: group, Kind: "crontabs",
				Causes: []metav1.StatusCause{{
					Type: corev1.NamespaceTerminatingCause, Message: "namespace team is being terminated", Field: "metadata.namespace",
				}},
			},
		})

		time.Sleep(time.Hour) // of the bubble's time
		setFinalizers(t, inTeam, "a", "example.com/y")
		setFinalizers(t, inTeam, "b")
		equal(t, "objects", names(list(t, inTeam)), []string{"a"})
		want.Conditions[3].Message = "Some resources are remaining: crontabs.stable.example.com has 1 resource instances"
		want.Conditions[4].Message = "Some content in the namespace has finalizers remaining: example.com/y in 1 resource instances"
		equal(t, "status an hour later: what has not changed has not transitioned", namespaceStatus(t, get(t, everywhere, "team")), want)

		setFinalizers(t, inTeam, "a")
		_, err = everywhere.Get(t.Context(), "team", metav1.GetOptions{})
		fails(t, "namespace", err, `namespaces "team" not found`)
		equal(t, "objects", names(list(t, inTeam)), []string{})
	})
}

func TestDeleteOfANamespaceAnswersItAsTerminating(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	create(t, c.Dynamic().Resource(namespaces), newNamespace("team"))
	answer := deleteRaw(t, c, "/api/v1/namespaces/team")
	equal(t, "phase", namespaceStatus(t, answer), corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating})
	equal(t, "is being deleted", answer.GetDeletionTimestamp() != nil, true)
}
