package rest_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/store"
)

// TestAGracePeriodEndsByTheClockOfTheCluster: upstream's code for it reads the clock of the
// machine.
func TestAGracePeriodEndsByTheClockOfTheCluster(t *testing.T) {
	const pods, graceless = "/api/v1/namespaces/default/pods", `{"gracePeriodSeconds":0}`
	now := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	c := startInProcess(t, func(o *options, _ *store.Options) { o.Now = func() time.Time { return now } })
	create := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`
	if a := c.serve("POST", pods, jsonBody, []byte(create)); a.code != 201 {
		t.Fatal(a)
	}
	for _, step := range []struct {
		rule          string
		after         time.Duration
		options       string
		ends, seconds string
	}{
		{"a deletion ends after the period", 0, ``, "2001-02-03T04:05:36Z", "30"},
		{"a shorter period counts from when the deletion began", 5 * time.Second, `{"gracePeriodSeconds":20}`, "2001-02-03T04:05:26Z", "20"},
		{"a period that is over ends now, and still waits for the kubelet", 10 * time.Second, `{"gracePeriodSeconds":3}`, "2001-02-03T04:05:21Z", "1"},
		{"one that ends later changes nothing", time.Second, `{"gracePeriodSeconds":2}`, "2001-02-03T04:05:21Z", "1"},
		{"no period", 0, graceless, "2001-02-03T04:05:22Z", "0"},
	} {
		t.Run(step.rule, func(t *testing.T) {
			now = now.Add(step.after)
			a := c.serve("DELETE", pods+"/a", jsonBody, []byte(step.options))
			var got metav1.PartialObjectMetadata
			if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.code != 200 || got.DeletionTimestamp == nil {
				t.Fatal(a, err)
			}
			expect(t, "deletionTimestamp", got.DeletionTimestamp.UTC().Format(time.RFC3339), step.ends)
			period, _ := json.Marshal(got.DeletionGracePeriodSeconds)
			expect(t, "deletionGracePeriodSeconds", string(period), step.seconds)
		})
	}
	expect(t, "gone", c.serve("GET", pods+"/a", nil, nil).code, 404)
}
