package rest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A read at a revision that is yet to come waits for it: until it is there, for three seconds, or until the
// timeout of the request.
func TestReadsWaitForARevision(t *testing.T) {
	for _, one := range []string{configMapsPath + "/a", configMapsPath} {
		synctest.Test(t, func(t *testing.T) {
			c := startInProcess(t)
			create := func(name string) {
				if a := c.serve("POST", configMapsPath, jsonBody, []byte(`{"metadata":{"name":"`+name+`"}}`)); a.code != 201 {
					t.Error(a)
				}
			}
			create("a")
			read := func(ahead int64, query string) (a answer, took time.Duration) {
				began := time.Now()
				a = c.serve("GET", fmt.Sprintf("%s?resourceVersion=%d%s", one, c.store.Revision()+ahead, query), nil, nil)
				return a, time.Since(began)
			}
			for _, tt := range []struct {
				query string
				took  time.Duration
				text  string
			}{
				{"&timeout=2s", 2 * time.Second, allotted},
				{"&timeout=3s", 3 * time.Second, allotted},
				{"&timeout=4s", 3 * time.Second, "Timeout: Too large resource version: "},
				{"", 3 * time.Second, "Timeout: Too large resource version: "},
			} {
				a, took := read(1, tt.query)
				expect(t, tt.query+": code", a.code, 504)
				expect(t, tt.query+": after", took, tt.took)
				if !strings.Contains(a.body, tt.text) {
					t.Errorf("%s: %s", tt.query, a.body)
				}
				create("b" + fmt.Sprint(len(c.server.History.Requests())))
			}
			time.AfterFunc(time.Second, func() { create("c") })
			time.AfterFunc(2*time.Second, func() { create("d") })
			a, took := read(2, "")
			expect(t, "the code of a read whose revision comes", a.code, 200)
			expect(t, "after", took, 2*time.Second)
			if strings.HasSuffix(one, "configmaps") && !strings.Contains(a.body, `"name":"d"`) {
				t.Errorf("the object of that revision is not in %s", a.body)
			}
			time.AfterFunc(time.Second, func() { create("e") })
			a, took = read(2, "")
			expect(t, "after a part of the revisions", took, 3*time.Second)
			if want := fmt.Sprint("current: ", c.store.Revision()); !strings.Contains(a.body, want) {
				t.Errorf("%s is not in %s", want, a.body)
			}
			time.AfterFunc(time.Second, c.server.Close)
			_, took = read(1, "")
			expect(t, "after Close", took, time.Second)
		})
	}
}

// Events have no cache that waits.
func TestReadsOfEventsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, began := startInProcess(t), time.Now()
		expect(t, "code", c.serve("GET", "/api/v1/namespaces/default/events?resourceVersion=99999999", nil, nil).code, 504)
		expect(t, "after", time.Since(began), time.Duration(0))
	})
}
