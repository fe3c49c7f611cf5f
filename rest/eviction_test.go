package rest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
)

const (
	podsPath    = "/api/v1/namespaces/default/pods"
	budgetsPath = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
)

var mergePatch = map[string][]string{"Content-Type": {"application/merge-patch+json"}}

// running creates a pod that runs on a node.
func (c *cluster) running(name string) {
	c.t.Helper()
	pod := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`, name)
	if a := c.serve("POST", podsPath, jsonBody, []byte(pod)); a.code != 201 {
		c.t.Fatal(a)
	}
	status := `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`
	if a := c.serve("PATCH", podsPath+"/"+name+"/status", mergePatch, []byte(status)); a.code != 200 {
		c.t.Fatal(a)
	}
}

// evict evicts a pod.
func (c *cluster) evict(name string) answer {
	return c.serve("POST", podsPath+"/"+name+"/eviction", jsonBody, fmt.Appendf(nil, `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q}}`, name))
}

// TestConcurrentEvictionsStayInTheirBudget: the budget changes with each of them, and the others
// try again at once.
func TestConcurrentEvictionsStayInTheirBudget(t *testing.T) {
	c := startInProcess(t)
	const pods, allowed = 24, 20
	for i := range pods {
		c.running(fmt.Sprint("p", i))
	}
	budget := `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"spec":{"minAvailable":4,"selector":{}}}`
	if a := c.serve("POST", budgetsPath, jsonBody, []byte(budget)); a.code != 201 {
		t.Fatal(a)
	}
	if a := c.evict("p0"); a.code != 429 || a.header.Get("Retry-After") != "10" {
		t.Errorf("an eviction before anybody has looked at the budget: %d, Retry-After %q", a.code, a.header.Get("Retry-After"))
	}
	status := fmt.Appendf(nil, `{"status":{"observedGeneration":1,"currentHealthy":24,"desiredHealthy":4,"expectedPods":24,"disruptionsAllowed":%d}}`, allowed)
	if a := c.serve("PATCH", budgetsPath+"/b/status", mergePatch, status); a.code != 200 {
		t.Fatal(a)
	}
	codes := make([]int, pods)
	var wg sync.WaitGroup
	for i := range codes {
		wg.Go(func() { codes[i] = c.evict(fmt.Sprint("p", i)).code })
	}
	wg.Wait()
	counted := map[int]int{}
	for _, code := range codes {
		counted[code]++
	}
	expect(t, "answers", counted, map[int]int{201: allowed, 429: pods - allowed})
	b := c.serve("GET", budgetsPath+"/b", nil, nil).body
	expect(t, "disruptions allowed", gjson.Get(b, "status.disruptionsAllowed").Int(), int64(0))
	expect(t, "disrupted pods", len(gjson.Get(b, "status.disruptedPods").Map()), allowed)
}

// TestAnEvictionWhosePreconditionNeverHoldsEnds: it conflicts each time, also where it ignores budgets.
func TestAnEvictionWhosePreconditionNeverHoldsEnds(t *testing.T) {
	c := startInProcess(t)
	c.running("running")
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pending"},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	if a := c.serve("POST", podsPath, jsonBody, []byte(pod)); a.code != 201 {
		t.Fatal(a)
	}
	for _, name := range []string{"pending", "running"} {
		before := c.serve("GET", podsPath+"/"+name, nil, nil).body
		uid := gjson.Get(before, "metadata.uid").Str
		for _, options := range []string{`{"preconditions":{"uid":"x"}}`, `{"preconditions":{"uid":"x"},"dryRun":["All"]}`} {
			a := c.serve("POST", podsPath+"/"+name+"/eviction", jsonBody,
				fmt.Appendf(nil, `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q},"deleteOptions":%s}`, name, options))
			expect(t, name+" "+options, fmt.Sprint(a.code, " ", gjson.Get(a.body, "message").Str), fmt.Sprintf(
				"409 Operation cannot be fulfilled on Pod %q: the UID in the precondition (x) does not match the UID in record (%s). The object might have been deleted and then recreated", name, uid))
		}
		expect(t, name, c.serve("GET", podsPath+"/"+name, nil, nil).body, before)
	}
}

// TestAnEvictionEndsWithItsRequest: each of its attempts conflicts, because a function changes the budget each time.
func TestAnEvictionEndsWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *cluster
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		attempts := 0
		c = startInProcess(t, withPlugin(budgetFunc(func(w *restadmission.Write) {
			if w.GetSubresource() != "status" || w.GetUserInfo().GetName() != "system:apiserver" {
				return
			}
			attempts++
			if attempts == 3 {
				cancel()
			}
			if a := c.serve("PATCH", budgetsPath+"/b", mergePatch, fmt.Appendf(nil, `{"metadata":{"labels":{"attempt":"%d"}}}`, attempts)); a.code != 200 {
				t.Error(a)
			}
		})))
		c.running("p")
		for _, step := range [][3]string{
			{"POST", budgetsPath, `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"spec":{"minAvailable":0,"selector":{}}}`},
			{"PATCH", budgetsPath + "/b/status", `{"status":{"observedGeneration":1,"currentHealthy":1,"desiredHealthy":0,"expectedPods":1,"disruptionsAllowed":1}}`},
		} {
			header := jsonBody
			if step[0] == "PATCH" {
				header = mergePatch
			}
			if a := c.serve(step[0], step[1], header, []byte(step[2])); a.code >= 300 {
				t.Fatal(a)
			}
		}
		c.as(ctx, "POST", podsPath+"/p/eviction", "application/json", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`, "system:masters")
		if err := c.handler.Drain(time.Hour); err != nil {
			t.Error(err)
		}
		expect(t, "attempts", attempts, 3)
	})
}

// budgetFunc is an admission function for budgets.
type budgetFunc func(*restadmission.Write)

func (budgetFunc) Mutate(context.Context, *restadmission.Write) error { return nil }

func (f budgetFunc) Validate(_ context.Context, w *restadmission.Write) error {
	if w.GetResource().Resource == "poddisruptionbudgets" {
		f(w)
	}
	return nil
}
