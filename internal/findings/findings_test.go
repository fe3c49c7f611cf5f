package findings

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/inspect"
)

// Only a write that another one has come before is a conflict in this sense; a fault is named.
func TestAFaultIsNotListedAsAConflict(t *testing.T) {
	request := inspect.Request{UserAgent: "operator/v1", Verb: "update", Resource: "pods", Namespace: "default", Name: "a", Code: 409, Reason: "Conflict"}
	late, owned, made, cut := request, request, request, request
	late.Message = `Operation cannot be fulfilled on pods "a": the object has been modified; please apply your changes to the latest version and try again`
	owned.Verb, owned.Patch, owned.Message = "patch", "apply", `Apply failed with 1 conflict: conflict with "kubectl": .spec.nodeName`
	made.Message, made.Fault = late.Message, "Conflict"
	cut.Code, cut.Reason, cut.Fault = 0, "", "CutAfterCommit"
	requests := []inspect.Request{late, owned, made, cut}
	var c Source
	moment := c.after(request.Time)
	want := []string{
		moment + ` operator apply pods default/a: 409 Conflict: ` + owned.Message,
		moment + ` operator update pods default/a: 409 Conflict (fault: Conflict): ` + late.Message,
		moment + ` operator update pods default/a: no answer (fault: CutAfterCommit)`,
	}
	if got := c.refused(requests, false); !slices.Equal(got, want) {
		t.Errorf("refused:\n%q\nwant\n%q", got, want)
	}
	if got := c.refused(requests, true); !slices.Equal(got, []string{moment + " operator update pods default/a"}) {
		t.Errorf("conflicts: %q", got)
	}
}

// Components of fakecluster that were not the first, and try again, say nothing about the test. What else is refused to them comes after the requests of others.
func TestComponentsAreListedIfTheyExplainSomething(t *testing.T) {
	request := func(user, agent, verb, resource string, code int, reason metav1.StatusReason, message string) inspect.Request {
		return inspect.Request{User: user, UserAgent: agent, Verb: verb, Resource: resource, Namespace: "default", Name: "a", Code: code, Reason: reason, Message: message}
	}
	const late = `Operation cannot be fulfilled on pods "a": the object has been modified; please apply your changes to the latest version and try again`
	provisioner, controller := "system:volume-provisioner", "system:serviceaccount:kube-system:replicaset-controller"
	faulted := request(controller, "kube-controller-manager/v1", "update", "pods", 409, "Conflict", "by a fault")
	faulted.Fault = "Conflict"
	requests := []inspect.Request{
		request(provisioner, "volume-provisioner", "create", "events", 409, "AlreadyExists", `events "a" already exists`),
		request("system:node:node-1", "kubelet", "get", "pods", 404, "NotFound", `pods "a" not found`),
		request(controller, "kube-controller-manager/v1", "create", "pods", 403, "Forbidden", "exceeded quota"),
		faulted,
		request("jane", "operator/v1", "create", "pods", 409, "AlreadyExists", `pods "a" already exists`),
		request("system:serviceaccount:kube-system:node-controller", "kube-controller-manager/v1", "update", "pods", 409, "Conflict", late),
		request("jane", "operator/v1", "update", "pods", 409, "Conflict", late),
	}
	for range endless {
		requests = append(requests, request(controller, "kube-controller-manager/v1", "create", "services", 409, "AlreadyExists", "again and again"))
	}
	var c Source
	lines := func(conflicts bool) (found []string) {
		for _, line := range c.refused(requests, conflicts) {
			_, line, _ = strings.Cut(line, " ")
			found = append(found, line)
		}
		return found
	}
	own := c.clientOf(controller, "kube-controller-manager/v1")
	want := []string{
		`operator create pods default/a: 409 AlreadyExists: pods "a" already exists`,
		own + ` create pods default/a: 403 Forbidden: exceeded quota`,
		own + ` update pods default/a: 409 Conflict (fault: Conflict): by a fault`,
		own + ` create services default/a (20 times): 409 AlreadyExists: again and again`,
	}
	if got := lines(false); !slices.Equal(got, want) {
		t.Errorf("refused:\n%q\nwant\n%q", got, want)
	}
	if got, want := lines(true), []string{"operator update pods default/a"}; !slices.Equal(got, want) {
		t.Errorf("conflicts: %q, want %q", got, want)
	}
}

// A repeated panic is listed once.
func TestPanicsOfTheSameKindAreCounted(t *testing.T) {
	began := time.Unix(100, 0)
	c := Source{Panics: []inspect.Panic{
		{Time: began.Add(time.Second), Handler: "a controller", What: "no map"},
		{Time: began.Add(2 * time.Second), Handler: "default/hook/validate", What: "no map"},
		{Time: began.Add(3 * time.Second), Handler: "a controller", What: "no map"},
	}, began: began}
	want := []string{"+3s a controller (2 times): no map", "+2s default/hook/validate: no map"}
	if got := c.panics(nil); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The components of a living cluster send most requests, and explain nothing by that.
func TestRequestsByClientAreThoseOfTheTest(t *testing.T) {
	stats := inspect.Stats{
		{User: "kubernetes-admin", UserAgent: "operator/v1", Verb: "create", Resource: "pods"}:                                                {Requests: 1},
		{User: "system:node:n1", UserAgent: "kubelet/v1.37.1", Verb: "patch", Resource: "pods", Subresource: "status"}:                        {Requests: 90},
		{User: "system:kube-scheduler", UserAgent: "kube-scheduler/v1.37.1", Verb: "create", Resource: "pods", Subresource: "binding"}:        {Requests: 80},
		{User: "system:apiserver", UserAgent: "kube-apiserver/v1.37.1", Verb: "update", Resource: "configmaps"}:                               {Requests: 70},
		{User: "system:serviceaccount:kube-system:job-controller", UserAgent: "kube-controller-manager/v1.37.1", Verb: "list", Resource: "a"}: {Requests: 60},
		{User: "system:serviceaccount:kube-system:mine", UserAgent: "operator/v1", Verb: "get", Resource: "pods"}:                             {Requests: 2},
	}
	want := []string{"operator (system:serviceaccount:kube-system:mine): 2 get pods", "operator (kubernetes-admin): 1 create pods"}
	if got := clients(stats, nil); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
