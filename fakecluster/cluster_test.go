package fakecluster_test

import (
	"strconv"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// ways are the ways in which clients reach a cluster.
var ways = []struct {
	name    string
	options []fakecluster.Option
}{
	{"HTTP", nil},
	{"TLS", []fakecluster.Option{fakecluster.WithTLS()}},
	{"in process", []fakecluster.Option{fakecluster.InProcess()}},
}

// eachWay runs a test over HTTP, over TLS and in process, as parallel subtests.
func eachWay(t *testing.T, test func(t *testing.T, way ...fakecluster.Option)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			test(t, w.options...)
		})
	}
}

func TestADefinitionIsServedWhenItsPostReturns(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := fakecluster.Start(t, way...)

		posted := define(t, c, cronTabDefinition())
		equal(t, "status in the answer", posted.Status, apiextensionsv1.CustomResourceDefinitionStatus{
			StoredVersions: []string{"v1"},
			AcceptedNames:  apiextensionsv1.CustomResourceDefinitionNames{},
		})

		now := getDefinition(t, c, definition)
		equal(t, "uid", now.UID, posted.UID)
		equal(t, "revision", revision(t, now), revision(t, posted)+1)
		equal(t, "generation", now.Generation, int64(1))
		for i := range now.Status.Conditions {
			if now.Status.Conditions[i].LastTransitionTime.IsZero() {
				t.Errorf("%s has no lastTransitionTime", now.Status.Conditions[i].Type)
			}
			now.Status.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		names := apiextensionsv1.CustomResourceDefinitionNames{
			Plural: "crontabs", Singular: "crontab", ShortNames: []string{"ct"}, Kind: "CronTab", ListKind: "CronTabList",
		}
		equal(t, "accepted names", now.Status.AcceptedNames, names)
		equal(t, "spec.names", now.Spec.Names, names)
		equal(t, "status", now.Status, apiextensionsv1.CustomResourceDefinitionStatus{
			Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found"},
				{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"},
			},
			AcceptedNames:  names,
			StoredVersions: []string{"v1"},
		})

		served, err := c.Discovery().ServerResourcesForGroupVersion("stable.example.com/v1")
		must(t, err)
		if len(served.APIResources) != 1 {
			t.Fatalf("discovery: %+v", served.APIResources)
		}
		got := served.APIResources[0]
		equal(t, "discovery", []any{got.Name, got.SingularName, got.Namespaced, got.Kind, got.ShortNames},
			[]any{"crontabs", "crontab", true, "CronTab", []string{"ct"}})
		mapping, err := c.RESTMapper().RESTMapping(cronTabs.GroupVersion().WithKind("CronTab").GroupKind())
		must(t, err)
		equal(t, "mapping", mapping.Resource, cronTabs)
	})
}

func TestCronTabsAreCreatedListedUpdatedWatchedAndDeleted(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := defined(t, way...)
		crontabs := inDefault(c)

		empty := list(t, crontabs)
		r := revision(t, empty)
		equal(t, "empty list", empty.UnstructuredContent(), object{
			"apiVersion": "stable.example.com/v1", "kind": "CronTabList",
			"metadata": object{"continue": "", "resourceVersion": strconv.Itoa(r)}, "items": []any{},
		})
		changes, err := crontabs.Watch(t.Context(), metav1.ListOptions{ResourceVersion: strconv.Itoa(r)})
		must(t, err)
		defer changes.Stop()

		a := create(t, crontabs, cronTab("a"))
		equal(t, "created", fixed(t, a), stored("a", "my-awesome-cron-image", 1, r+1))
		b := create(t, crontabs, cronTab("b"))
		equal(t, "created", fixed(t, b), stored("b", "my-awesome-cron-image", 1, r+2))
		_, err = crontabs.Create(t.Context(), cronTab("a"), metav1.CreateOptions{})
		fails(t, "create again", err, `crontabs.stable.example.com "a" already exists`)
		equal(t, "it is so", apierrors.IsAlreadyExists(err), true)

		updated := change(t, crontabs, a, "other")
		equal(t, "updated", fixed(t, updated), stored("a", "other", 2, r+3))
		equal(t, "uid", updated.GetUID(), a.GetUID())
		equal(t, "creationTimestamp", updated.GetCreationTimestamp(), a.GetCreationTimestamp())
		equal(t, "got", get(t, crontabs, "a"), updated)
		_, err = crontabs.Update(t.Context(), a, metav1.UpdateOptions{})
		fails(t, "update of what was updated since", err, `Operation cannot be fulfilled on crontabs.stable.example.com "a": `+
			`the object has been modified; please apply your changes to the latest version and try again`)
		equal(t, "it is so", apierrors.IsConflict(err), true)

		listed := list(t, c.Dynamic().Resource(cronTabs))
		equal(t, "revision of the list", revision(t, listed), r+3)
		equal(t, "list", listed.Items, []unstructured.Unstructured{*updated, *b})

		remove(t, crontabs, "b")
		_, err = crontabs.Get(t.Context(), "b", metav1.GetOptions{})
		fails(t, "get of what was deleted", err, `crontabs.stable.example.com "b" not found`)
		equal(t, "it is so", apierrors.IsNotFound(err), true)
		equal(t, "list after delete", list(t, crontabs).Items, []unstructured.Unstructured{*updated})

		want := []event{
			{watch.Added, stored("a", "my-awesome-cron-image", 1, r+1)},
			{watch.Added, stored("b", "my-awesome-cron-image", 1, r+2)},
			{watch.Modified, stored("a", "other", 2, r+3)},
			{watch.Deleted, stored("b", "my-awesome-cron-image", 1, r+4)},
		}
		equal(t, "watch from the first list", next(t, changes, 4), want)
		again, err := crontabs.Watch(t.Context(), metav1.ListOptions{ResourceVersion: strconv.Itoa(r + 2)})
		must(t, err)
		defer again.Stop()
		equal(t, "watch resumed in the middle", next(t, again, 2), want[2:])
		present, err := crontabs.Watch(t.Context(), metav1.ListOptions{})
		must(t, err)
		defer present.Stop()
		equal(t, "watch from nowhere", next(t, present, 1), []event{{watch.Added, stored("a", "other", 2, r+3)}})

		deleteDefinition(t, c, definition)
		_, err = crontabs.List(t.Context(), metav1.ListOptions{})
		fails(t, "list without a definition", err, "the server could not find the requested resource")
		for _, w := range []watch.Interface{changes, again, present} {
			last := ended(t, w)
			if len(last) != 1 || last[0].Type != watch.Deleted {
				t.Errorf("the last event before the definition is gone: %v", last)
			}
		}
	})
}
