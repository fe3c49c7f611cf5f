package rest_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/tidwall/gjson"
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
