package fakecluster_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// deleteRaw deletes what is at a path and returns the answer. Typed clients do not return it.
func deleteRaw(t testing.TB, c *fakecluster.Cluster, path string) *unstructured.Unstructured {
	t.Helper()
	client, err := clientrest.HTTPClientFor(c.RESTConfig())
	must(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, c.URL()+path, nil)
	must(t, err)
	resp, err := client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	equal(t, "code", resp.StatusCode, http.StatusOK)
	u := &unstructured.Unstructured{}
	must(t, json.Unmarshal(body, &u.Object))
	return u
}

// condition is a condition's status, reason and message.
func condition(crd *apiextensionsv1.CustomResourceDefinition, kind apiextensionsv1.CustomResourceDefinitionConditionType) string {
	for _, c := range crd.Status.Conditions {
		if c.Type == kind {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return ""
}

const (
	accepted      = "True NoConflicts: no conflicts found"
	isEstablished = "True InitialNamesAccepted: the initial names have been accepted"
	notAccepted   = "False NotAccepted: not all names are accepted"
)

func TestDeleteOfADefinitionAnswersItAsTerminating(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	answer := deleteRaw(t, c, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+definition)
	equal(t, "kind", answer.GetKind(), "CustomResourceDefinition")
	equal(t, "is being deleted", answer.GetDeletionTimestamp() != nil, true)
	equal(t, "finalizers", answer.GetFinalizers(), []string{"customresourcecleanup.apiextensions.k8s.io"})
	conditions, _, err := unstructured.NestedSlice(answer.Object, "status", "conditions")
	must(t, err)
	last := conditions[len(conditions)-1].(object)
	delete(last, "lastTransitionTime")
	equal(t, "condition", last, object{
		"type": "Terminating", "status": "True", "reason": "InstanceDeletionPending",
		"message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	})
	equal(t, "definitions", definitions(t, c), []string{})
}

func TestFinalizersOnObjectsHoldTheirDefinitionBack(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	crontabs := inDefault(c)
	held := cronTab("held")
	held.SetFinalizers([]string{"example.com/hold"})
	create(t, crontabs, held)
	create(t, crontabs, cronTab("free"))

	deleteDefinition(t, c, definition)
	crd := getDefinition(t, c, definition)
	equal(t, "finalizers", crd.Finalizers, []string{"customresourcecleanup.apiextensions.k8s.io"})
	equal(t, "terminating", condition(crd, apiextensionsv1.Terminating), "True InstanceDeletionInProgress: CustomResource deletion is in progress")
	equal(t, "still established", condition(crd, apiextensionsv1.Established), isEstablished)
	left := list(t, crontabs)
	equal(t, "objects", names(left), []string{"held"})
	equal(t, "it is being deleted", left.Items[0].GetDeletionTimestamp() != nil, true)

	_, err := crontabs.Create(t.Context(), cronTab("new"), metav1.CreateOptions{})
	fails(t, "create", err, `crontabs.stable.example.com "new" is forbidden: create not allowed while custom resource definition is terminating`)
	_, err = c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), cronTabDefinition(), metav1.CreateOptions{})
	fails(t, "create of the definition", err, `object is being deleted: customresourcedefinitions.apiextensions.k8s.io "crontabs.stable.example.com" already exists`)
	served, err := c.Discovery().ServerResourcesForGroupVersion("stable.example.com/v1")
	must(t, err)
	equal(t, "verbs in discovery", []string(served.APIResources[0].Verbs), []string{"delete", "deletecollection", "get", "list", "watch"})

	setFinalizers(t, crontabs, "held")
	equal(t, "definitions", definitions(t, c), []string{})
	_, err = crontabs.List(t.Context(), metav1.ListOptions{})
	fails(t, "list", err, "the server could not find the requested resource")
	_, err = c.Discovery().ServerResourcesForGroupVersion("stable.example.com/v1")
	fails(t, "discovery", err, "the server could not find the requested resource")
}

func TestDefinitionCreatedAgainStartsEmpty(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	before := getDefinition(t, c, definition)
	create(t, inDefault(c), cronTab("a"))
	deleteDefinition(t, c, definition)
	define(t, c, cronTabDefinition())
	equal(t, "objects", names(list(t, inDefault(c))), []string{})
	if after := getDefinition(t, c, definition); after.UID == before.UID {
		t.Errorf("it has the uid of the one before: %s", after.UID)
	}
	equal(t, "generation of an object of that name", create(t, inDefault(c), cronTab("a")).GetGeneration(), int64(1))
}

// rival is a definition in the group of the CronTab with other names.
func rival(plural string, wants func(*apiextensionsv1.CustomResourceDefinitionNames)) *apiextensionsv1.CustomResourceDefinition {
	crd := cronTabDefinition()
	kind := strings.ToUpper(plural[:1]) + plural[1:]
	crd.Name = plural + "." + group
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: plural + "one", Kind: kind, ListKind: kind + "List"}
	if wants != nil {
		wants(&crd.Spec.Names)
	}
	return crd
}

type wanted = apiextensionsv1.CustomResourceDefinitionNames

func TestNamesAreAcceptedWhenTheConflictingDefinitionIsDeleted(t *testing.T) {
	for _, c := range []struct {
		rule     string
		wants    func(*wanted)
		conflict string
		accepted wanted
	}{
		{"kind", func(n *wanted) { n.Kind = "CronTab" }, `False KindConflict: "CronTab" is already in use`,
			wanted{Plural: "rivals", Singular: "rivalsone", ListKind: "RivalsList"}},
		{"kind that is another's listKind", func(n *wanted) { n.Kind = "CronTabList" }, `False KindConflict: "CronTabList" is already in use`,
			wanted{Plural: "rivals", Singular: "rivalsone", ListKind: "RivalsList"}},
		{"listKind", func(n *wanted) { n.ListKind = "CronTabList" }, `False ListKindConflict: "CronTabList" is already in use`,
			wanted{Plural: "rivals", Singular: "rivalsone", Kind: "Rivals"}},
		{"kind and listKind: the last one counts", func(n *wanted) { n.Kind, n.ListKind = "CronTab", "" }, `False ListKindConflict: "CronTabList" is already in use`,
			wanted{Plural: "rivals", Singular: "rivalsone"}},
		{"singular", func(n *wanted) { n.Singular = "crontab" }, `False SingularConflict: "crontab" is already in use`,
			wanted{Plural: "rivals", Kind: "Rivals", ListKind: "RivalsList"}},
		{"singular that is another's short name", func(n *wanted) { n.Singular = "ct" }, `False SingularConflict: "ct" is already in use`,
			wanted{Plural: "rivals", Kind: "Rivals", ListKind: "RivalsList"}},
		{"short name", func(n *wanted) { n.ShortNames = []string{"free", "ct"} }, `False ShortNamesConflict: "ct" is already in use`,
			wanted{Plural: "rivals", Singular: "rivalsone", Kind: "Rivals", ListKind: "RivalsList"}},
		{"short names", func(n *wanted) { n.ShortNames = []string{"crontab", "ct"} }, `False ShortNamesConflict: ["crontab" is already in use, "ct" is already in use]`,
			wanted{Plural: "rivals", Singular: "rivalsone", Kind: "Rivals", ListKind: "RivalsList"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			cluster := defined(t, fakecluster.InProcess())
			crd := rival("rivals", c.wants)
			define(t, cluster, crd)
			rivals := cluster.Dynamic().Resource(cronTabs.GroupVersion().WithResource("rivals"))

			got := getDefinition(t, cluster, crd.Name)
			equal(t, "names accepted", condition(got, apiextensionsv1.NamesAccepted), c.conflict)
			equal(t, "established", condition(got, apiextensionsv1.Established), notAccepted)
			equal(t, "accepted names", got.Status.AcceptedNames, c.accepted)
			_, err := rivals.List(t.Context(), metav1.ListOptions{})
			fails(t, "it is not served", err, "the server could not find the requested resource")
			equal(t, "the first one", condition(getDefinition(t, cluster, definition), apiextensionsv1.NamesAccepted), accepted)
			list(t, inDefault(cluster))

			deleteDefinition(t, cluster, definition)
			got = getDefinition(t, cluster, crd.Name)
			equal(t, "names accepted", condition(got, apiextensionsv1.NamesAccepted), accepted)
			equal(t, "established", condition(got, apiextensionsv1.Established), isEstablished)
			equal(t, "accepted names", got.Status.AcceptedNames, got.Spec.Names)
			equal(t, "it is served", names(list(t, rivals)), []string{})
		})
	}
}

func TestNamesOfOtherGroupsDoNotConflict(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	other := cronTabDefinition()
	other.Name, other.Spec.Group = "crontabs.other.example.com", "other.example.com"
	define(t, c, other)
	equal(t, "names accepted", condition(getDefinition(t, c, other.Name), apiextensionsv1.NamesAccepted), accepted)
}

func TestOneOfManyConflictingDefinitionsGetsTheName(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	crds := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions()
	const rivals = 20
	var workers sync.WaitGroup
	for i := range rivals {
		workers.Go(func() {
			crd := rival(fmt.Sprintf("rivals%c", 'a'+i), func(n *wanted) { n.Kind, n.ShortNames = "CronTab", []string{"ct"} })
			if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()

	// Each one that goes hands the name on to exactly one other.
	for left := rivals; left > 0; left-- {
		l, err := crds.List(t.Context(), metav1.ListOptions{})
		must(t, err)
		equal(t, "definitions", len(l.Items), left)
		var holders, waiting []string
		for i := range l.Items {
			switch state := condition(&l.Items[i], apiextensionsv1.NamesAccepted); state {
			case accepted:
				holders = append(holders, l.Items[i].Name)
			case `False KindConflict: "CronTab" is already in use`:
				waiting = append(waiting, l.Items[i].Name)
				equal(t, "established", condition(&l.Items[i], apiextensionsv1.Established), notAccepted)
			default:
				t.Errorf("%s: %s", l.Items[i].Name, state)
			}
		}
		if len(holders) != 1 || len(waiting) != left-1 {
			t.Fatalf("%d definitions hold the name, %d wait for it: %s", len(holders), len(waiting), slices.Concat(holders, waiting))
		}
		must(t, crds.Delete(t.Context(), holders[0], metav1.DeleteOptions{}))
	}
}
