package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/store"
)

// together runs f n times at once.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

func TestOneOfManyCreatesWins(t *testing.T) {
	c := start(t)
	c.install("widgets")
	for round := range 10 {
		var mu sync.Mutex
		codes := map[int]int{}
		together(8, func(int) {
			a := c.serve("POST", widgetsPath, jsonBody, []byte(widget(fmt.Sprintf("w%d", round))))
			mu.Lock()
			codes[a.code]++
			mu.Unlock()
		})
		expect(t, "codes", codes, map[int]int{http.StatusCreated: 1, http.StatusConflict: 7})
	}
}

// TestNoUpdateIsLost counts up from many sides, each retrying its conflicts, and
// watches every step.
func TestNoUpdateIsLost(t *testing.T) {
	const writers, steps = 6, 20
	c := start(t)
	c.install("widgets")
	c.must("POST", widgetsPath, strings.Replace(widget("n"), `"spec":{}`, `"spec":{"size":0}`, 1))
	w := c.watch(widgetsPath + "?watch=1&resourceVersion=" + c.list(widgetsPath).ResourceVersion)
	together(writers, func(int) {
		for range steps {
			for done := false; !done; {
				before := c.serve("GET", widgetsPath+"/n", nil, nil).body
				var object struct{ Spec struct{ Size int } }
				if err := json.Unmarshal([]byte(before), &object); err != nil {
					t.Error(err)
					return
				}
				after := strings.Replace(before, `"size":`+strconv.Itoa(object.Spec.Size), `"size":`+strconv.Itoa(object.Spec.Size+1), 1)
				switch a := c.serve("PUT", widgetsPath+"/n", jsonBody, []byte(after)); a.code {
				case http.StatusOK:
					done = true
				case http.StatusConflict:
				default:
					t.Errorf("%d %s", a.code, a.body)
					return
				}
			}
		}
	})
	last := int64(0)
	for i := range writers * steps {
		line, err := w.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var event struct {
			Object struct {
				metav1.ObjectMeta `json:"metadata"`
				Spec              struct{ Size int }
			}
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		revision, err := strconv.ParseInt(event.Object.ResourceVersion, 10, 64)
		if err != nil || revision <= last {
			t.Fatalf("revision %q after %d", event.Object.ResourceVersion, last)
		}
		last = revision
		expect(t, "size", event.Object.Spec.Size, i+1)
		expect(t, "generation", event.Object.Generation, int64(i+2))
	}
}

// TestOneDefinitionGetsAName lets definitions compete for a short name.
func TestOneDefinitionGetsAName(t *testing.T) {
	c := start(t)
	together(6, func(i int) {
		kind := string(rune('A' + i))
		body := strings.NewReplacer("planets", strings.ToLower(kind)+"s", `"planet"`, `"`+strings.ToLower(kind)+`","shortNames":["zz"]`, "Planet", kind).Replace(definition(t, "planets"))
		if a := c.serve("POST", definitionsPath, jsonBody, []byte(body)); a.code != http.StatusCreated {
			t.Errorf("%d %s", a.code, a.body)
		}
	})
	list := c.must("GET", definitionsPath, "")
	expect(t, "have it", strings.Count(list, `"reason":"NoConflicts"`), 1)
	expect(t, "conflicts", strings.Count(list, `"reason":"ShortNamesConflict"`), 5)
	expect(t, "are served", strings.Count(c.must("GET", "/apis/example.com/v1", ""), `"singularName"`), 1)
}

// TestNothingOutlivesItsDefinitionOrNamespace races creates with the deletion of
// what they are made in.
func TestNothingOutlivesItsDefinitionOrNamespace(t *testing.T) {
	for _, tt := range []struct{ rule, gone string }{
		{"a definition", widgetsDefinition},
		{"a namespace", "/api/v1/namespaces/doomed"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			c := start(t)
			c.install("widgets")
			c.must("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"doomed"}}`)
			path := strings.Replace(widgetsPath, "default", "doomed", 1)
			together(5, func(i int) {
				if i == 0 {
					answered(t, c.serve("DELETE", tt.gone, nil, nil), "DELETE "+tt.gone)
					return
				}
				for n := range 20 {
					a := c.serve("POST", path, jsonBody, []byte(widget(fmt.Sprintf("w%d-%d", i, n))))
					answered(t, a, "POST")
					if a.code >= 500 {
						t.Errorf("%d %s", a.code, a.body)
					}
				}
			})
			expect(t, "gone", c.do("GET", tt.gone, nil, "").code, http.StatusNotFound)
			left, err := c.store.List("/registry/example.com/", store.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range left.Records {
				t.Errorf("left behind: %s", r.Key)
			}
		})
	}
}
