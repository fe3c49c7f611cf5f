package fakecluster_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/testing/consistency"
)

// renaming is a conversion webhook that counts the objects that it converts. It sets another color
// and a label on each.
type renaming struct{ converted atomic.Int64 }

func (c *renaming) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var review map[string]any
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request := review["request"].(map[string]any)
	converted := []any{}
	for _, o := range request["objects"].([]any) {
		c.converted.Add(1)
		u := unstructured.Unstructured{Object: o.(map[string]any)}
		u.SetAPIVersion(request["desiredAPIVersion"].(string))
		u.Object["spec"].(map[string]any)["color"] = "converted"
		u.SetLabels(map[string]string{"converted": "to-" + u.GroupVersionKind().Version})
		converted = append(converted, u.Object)
	}
	delete(review, "request")
	review["response"] = map[string]any{"uid": request["uid"], "result": map[string]any{"status": "Success"}, "convertedObjects": converted}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// renamed returns a cluster whose samples the webhook converts.
func renamed(t *testing.T) (consistency.Wire, *renaming) {
	t.Helper()
	webhook := &renaming{}
	c := fakecluster.Start(t, fakecluster.WithService("default", "renaming", 443, webhook))
	crd := consistency.Definition()
	path := "/"
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ConversionReviewVersions: []string{"v1"},
		ClientConfig: &apiextensionsv1.WebhookClientConfig{
			Service:  &apiextensionsv1.ServiceReference{Namespace: "default", Name: "renaming", Path: &path},
			CABundle: c.CABundle(),
		},
	}}
	define(t, c, crd)
	return newWire(t, c), webhook
}

// A label selector selects by the labels of the requested version.
func TestSelectorsUseConvertedLabels(t *testing.T) {
	w, _ := renamed(t)
	_, start, _ := w.Items(t, consistency.Path+"/samples")
	body := `{"apiVersion":"reads.example.com/v1","kind":"Sample","metadata":{"name":"o-1","labels":{"stored":"yes"}},"spec":{"color":"red"}}`
	code, answer, err := w.Send(t.Context(), http.MethodPost, consistency.Path+"/namespaces/default/samples", "application/json", body)
	must(t, err)
	equal(t, "create: "+answer, code, http.StatusCreated)
	for _, c := range []struct {
		version, selector string
		picked            int
	}{
		{"v1", "stored=yes", 1}, {"v1", "converted", 0}, {"v1", "!converted", 1},
		{"v2", "stored=yes", 0}, {"v2", "converted=to-v2", 1}, {"v2", "!stored", 1},
	} {
		path := consistency.GroupPath + c.version + "/samples?labelSelector=" + c.selector
		items, _, _ := w.Items(t, path)
		equal(t, path, len(items), c.picked)
		for _, from := range []string{start, "0"}[:2*c.picked] {
			must(t, w.Stream(t.Context(), path+"&watch=1&resourceVersion="+from, "", func(kind, object string) bool {
				equal(t, path+" from "+from, kind+" "+object, "ADDED "+string(items[0]))
				return false
			}))
		}
	}
}

// A change is converted once for a view, however many watchers the view has.
func TestWatchersOfOneViewShareItsConversion(t *testing.T) {
	const watchers, changes = 20, 10
	w, webhook := renamed(t)
	views := []struct{ version, accept, color string }{
		{"v1", "", "stored"},
		{"v1", "application/json;as=Table;g=meta.k8s.io;v=v1", "stored"},
		{"v2", "", "converted"},
		{"v2", "application/json;as=Table;g=meta.k8s.io;v=v1", "converted"},
	}
	_, start, _ := w.Items(t, consistency.Path+"/samples")
	heard := make([]string, watchers*len(views))
	var workers, opened sync.WaitGroup
	for n := range heard {
		v := views[n%len(views)]
		opened.Add(1)
		workers.Go(func() {
			resp, err := w.Open(t.Context(), http.MethodGet, consistency.GroupPath+v.version+"/samples?watch=1&resourceVersion="+start, "", v.accept, "")
			opened.Done()
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			lines := bufio.NewReader(resp.Body)
			for m := range changes {
				line, err := lines.ReadString('\n')
				// Only the first Table of a stream has columns.
				if err != nil || !strings.Contains(line, `"`+v.color+`"`) || strings.Contains(line, `"columnDefinitions":[`) != (v.accept != "" && m == 0) {
					t.Errorf("watcher %d, change %d: %v %s", n, m, err, line)
					return
				}
				heard[n] += line
			}
		})
	}
	opened.Wait()
	for n := range changes {
		body := fmt.Sprintf(`{"apiVersion":"reads.example.com/v1","kind":"Sample","metadata":{"name":%q},"spec":{"color":"stored"}}`, nameOf(n))
		code, answer, err := w.Send(t.Context(), http.MethodPost, consistency.Path+"/namespaces/default/samples", "application/json", body)
		must(t, err)
		equal(t, "create: "+answer, code, http.StatusCreated)
	}
	workers.Wait()
	for n := range heard {
		equal(t, fmt.Sprintf("what watcher %d hears", n), heard[n], heard[n%len(views)])
	}
	equal(t, "conversions", int(webhook.converted.Load()), changes)
}
