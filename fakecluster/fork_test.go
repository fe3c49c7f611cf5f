package fakecluster_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestForkIsIndependent(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		parent := defined(t, way...)
		a := create(t, inDefault(parent), cronTab("a"))
		r := revision(t, a)

		fork := parent.Fork(t)
		equal(t, "object of the fork", get(t, inDefault(fork), "a"), a)
		equal(t, "revision of the fork", revision(t, list(t, inDefault(fork))), r)
		if way == nil && fork.URL() == parent.URL() {
			t.Errorf("both listen at %s", fork.URL())
		}

		change(t, inDefault(parent), a, "parent's")
		create(t, inDefault(parent), cronTab("p"))
		remove(t, inDefault(fork), "a")
		b := create(t, inDefault(fork), cronTab("f"))
		equal(t, "both go on from the same revision", revision(t, b), r+2)

		equal(t, "parent", names(list(t, inDefault(parent))), []string{"a", "p"})
		equal(t, "fork", names(list(t, inDefault(fork))), []string{"f"})
		equal(t, "parent's a", fixed(t, get(t, inDefault(parent), "a")), stored("a", "parent's", 2, r+1))

		again := fork.Fork(t)
		equal(t, "fork of the fork", names(list(t, inDefault(again))), []string{"f"})
		must(t, fork.Close())
		equal(t, "parent and grandchild live on", []any{names(list(t, inDefault(parent))), names(list(t, inDefault(again)))},
			[]any{[]string{"a", "p"}, []string{"f"}})
	})
}

func TestForkKeepsTheHistory(t *testing.T) {
	parent := defined(t, fakecluster.InProcess())
	a := create(t, inDefault(parent), cronTab("a"))
	r := revision(t, a)
	change(t, inDefault(parent), a, "changed")

	fork := parent.Fork(t)
	w, err := inDefault(fork).Watch(t.Context(), metav1.ListOptions{ResourceVersion: strconv.Itoa(r)})
	must(t, err)
	defer w.Stop()
	remove(t, inDefault(parent), "a") // unseen
	create(t, inDefault(fork), cronTab("f"))
	equal(t, "watch from before the fork", next(t, w, 2), []event{
		{watch.Modified, stored("a", "changed", 2, r+1)},
		{watch.Added, stored("f", "my-awesome-cron-image", 1, r+2)},
	})
	then, err := inDefault(fork).List(t.Context(), metav1.ListOptions{ResourceVersion: strconv.Itoa(r), ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	must(t, err)
	equal(t, "list as of before the fork", fixed(t, &then.Items[0]), stored("a", "my-awesome-cron-image", 1, r))
}

func TestForkHasItsOwnDefinitions(t *testing.T) {
	parent := defined(t, fakecluster.InProcess())
	create(t, inDefault(parent), cronTab("a"))
	fork := parent.Fork(t)

	deleteDefinition(t, parent, definition)
	_, err := inDefault(parent).List(t.Context(), metav1.ListOptions{})
	fails(t, "deleted in the parent", err, "the server could not find the requested resource")
	equal(t, "it stays in the fork", names(list(t, inDefault(fork))), []string{"a"})
	create(t, inDefault(fork), cronTab("b"))

	sibling := fork.Fork(t)
	deleteDefinition(t, sibling, definition)
	equal(t, "deleted in a fork, it stays where that came from", names(list(t, inDefault(fork))), []string{"a", "b"})
	equal(t, "definitions of the fork's fork", definitions(t, sibling), []string{})

	define(t, parent, cronTabDefinition())
	equal(t, "created again it is empty", names(list(t, inDefault(parent))), []string{})
}

func TestForkKeepsTheOptions(t *testing.T) {
	parent := defined(t, fakecluster.InProcess(), fakecluster.WithoutNamespaceLifecycle(), fakecluster.WithWatchHistory(3, 0))
	fork := parent.Fork(t)
	u := cronTab("a")
	u.SetNamespace("nowhere")
	nowhere := fork.Dynamic().Resource(cronTabs).Namespace("nowhere")
	u = create(t, nowhere, u)
	r := revision(t, u)
	for i := range 4 {
		u = change(t, nowhere, u, fmt.Sprint(i))
	}
	_, err := nowhere.List(t.Context(), metav1.ListOptions{ResourceVersion: strconv.Itoa(r), ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	equal(t, "the history is bounded", apierrors.IsResourceExpired(err), true)
}

func TestForkOfASeededClusterRepeats(t *testing.T) {
	play := func() (made []string) {
		parent := defined(t, fakecluster.InProcess(), fakecluster.WithSeed(7))
		for _, c := range []*fakecluster.Cluster{parent.Fork(t), parent, parent.Fork(t)} {
			made = append(made, string(create(t, inDefault(c), cronTab("a")).GetUID()))
			must(t, c.Dynamic().Resource(cronTabs).Namespace("default").Delete(t.Context(), "a", metav1.DeleteOptions{}))
		}
		return made
	}
	first := play()
	equal(t, "uids", play(), first)
	if first[0] == first[1] || first[1] == first[2] {
		t.Errorf("a fork repeats its parent: %q", first)
	}
}

// A fork that is made while definitions are created and deleted serves exactly those that it has.
func TestForkIsOfOneState(t *testing.T) {
	parent := fakecluster.Start(t, fakecluster.InProcess())
	crd := cronTabDefinition()
	stop := make(chan struct{})
	var writer sync.WaitGroup
	defer writer.Wait()
	defer close(stop)
	writer.Go(func() {
		crds := parent.APIExtensions().ApiextensionsV1().CustomResourceDefinitions()
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
				t.Error(err)
				return
			}
			if err := crds.Delete(t.Context(), crd.Name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 100 {
		fork := parent.Fork(t)
		_, err := inDefault(fork).List(t.Context(), metav1.ListOptions{})
		served := err == nil
		there, err := fork.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().List(t.Context(), metav1.ListOptions{})
		must(t, err)
		if served != (len(there.Items) == 1) {
			t.Fatalf("CronTabs are served: %t; definitions: %v", served, there.Items)
		}
		if served && !established(&there.Items[0]) {
			t.Fatalf("a definition of the fork waits for somebody: %+v", there.Items[0].Status)
		}
		must(t, fork.Close())
	}
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
