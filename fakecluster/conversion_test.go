package fakecluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// parts makes hostPort host and port, and back, as the webhook of the documents does.
func parts(_ context.Context, u *unstructured.Unstructured, apiVersion string) error {
	if apiVersion == "example.com/v1beta1" {
		host, _ := u.Object["host"].(string)
		port, _ := u.Object["port"].(string)
		u.Object["hostPort"] = host + ":" + port
		return nil
	}
	hostPort, _ := u.Object["hostPort"].(string)
	host, port, ok := strings.Cut(hostPort, ":")
	if !ok {
		return errors.New("hostPort could not be parsed into a separate host and port")
	}
	u.Object["host"], u.Object["port"] = host, port
	return nil
}

const (
	withoutWebhook = "../scenarios/versions/my-versioned-crontab.yaml"
	withWebhook    = "../scenarios/versions/my-versioned-crontab-with-conversion.yaml"
	inV1beta1      = "../scenarios/legacy/my-versioned-crontab-with-conversion.yaml"
)

// rewritten is a copy of a manifest with a text in place of another.
func rewritten(t *testing.T, path, old, now string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q", path, old)
	}
	copied := t.TempDir() + "/crd.yaml"
	must(t, os.WriteFile(copied, []byte(strings.ReplaceAll(string(text), old, now)), 0o600))
	return copied
}

// corrupt is how the error of a read begins whose object cannot be converted.
func corrupt(crontab *unstructured.Unstructured) string {
	return "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /example.com/crontabs/default/" + crontab.GetName() +
		", ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision=" + crontab.GetResourceVersion() + ": "
}

func convertsHostAndPort(t *testing.T, c *fakecluster.Cluster) {
	t.Helper()
	object := func(name, hostPort string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": map[string]any{"name": name}, "hostPort": hostPort,
		}}
	}
	create(t, cronTabsIn(c, "v1beta1"), object("a", "localhost:1234"))
	got, err := cronTabsIn(c, "v1").Get(t.Context(), "a", metav1.GetOptions{})
	must(t, err)
	equal(t, "version, host and port", []any{got.GetAPIVersion(), got.Object["host"], got.Object["port"], got.Object["hostPort"]},
		[]any{"example.com/v1", "localhost", "1234", nil})

	got.Object["port"] = "4321"
	_, err = cronTabsIn(c, "v1").Update(t.Context(), got, metav1.UpdateOptions{})
	must(t, err)
	got, err = cronTabsIn(c, "v1beta1").Get(t.Context(), "a", metav1.GetOptions{})
	must(t, err)
	equal(t, "hostPort", got.Object["hostPort"], any("localhost:4321"))

	b := create(t, cronTabsIn(c, "v1beta1"), object("b", "localhost"))
	_, err = cronTabsIn(c, "v1").Get(t.Context(), "b", metav1.GetOptions{})
	fails(t, "get what cannot be converted", err, corrupt(b)+
		"conversion webhook for example.com/v1beta1, Kind=CronTab failed: hostPort could not be parsed into a separate host and port")
}

func TestAGoFunctionConverts(t *testing.T) {
	// A definition of a scaffold has no conversion, or one with a service that does not exist.
	silent := rewritten(t, withWebhook, "  conversion:\n", "  x-ignored:\n")
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		for _, path := range []string{silent, withWebhook} {
			c := fakecluster.Start(t, append(way, fakecluster.WithCRDPaths(path),
				fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(parts)))...)
			convertsHostAndPort(t, c)
			fork := c.Fork(t)
			must(t, cronTabsIn(fork, "v1").Delete(t.Context(), "a", metav1.DeleteOptions{}))
			must(t, cronTabsIn(fork, "v1beta1").Delete(t.Context(), "b", metav1.DeleteOptions{}))
			convertsHostAndPort(t, fork)
		}
	})
}

func TestAGoFunctionConvertsInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		convertsHostAndPort(t, fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook),
			fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(parts))))
	})
}

func TestAGoFunctionConvertsADefinitionOfWithObjects(t *testing.T) {
	source := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook))
	definition, err := source.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Get(t.Context(), "crontabs.example.com", metav1.GetOptions{})
	must(t, err)
	definition.ObjectMeta = metav1.ObjectMeta{Name: definition.Name}
	convertsHostAndPort(t, fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(definition),
		fakecluster.WithService("default", "example-conversion-webhook-server", 443, fakecluster.ConversionFunc(parts))))
	definition.Spec.Conversion = nil
	convertsHostAndPort(t, fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(definition),
		fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(parts))))
}

// If a definition refers to a service of the cluster, the cluster fills in the caBundle, and
// replaces one that is there.
func TestDefinitionsTrustTheServicesThatTheyReferTo(t *testing.T) {
	service := fakecluster.WithService("default", "example-conversion-webhook-server", 443, fakecluster.ConversionFunc(parts))
	for rule, opts := range map[string][]fakecluster.Option{
		"in v1":          {fakecluster.WithCRDPaths(withWebhook)},
		"a placeholder":  {fakecluster.WithCRDPaths(rewritten(t, withWebhook, "      clientConfig:\n", "      clientConfig:\n        caBundle: Cg==\n"))},
		"review v1beta1": {fakecluster.WithCRDPaths(rewritten(t, withWebhook, `["v1","v1beta1"]`, `["v1beta1"]`))},
		"in v1beta1":     {fakecluster.WithCRDPaths(inV1beta1), fakecluster.WithLegacyAPIs()},
	} {
		t.Run(rule, func(t *testing.T) {
			convertsHostAndPort(t, fakecluster.Start(t, append(opts, service, fakecluster.InProcess())...))
		})
	}
	t.Run("another service", func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook), fakecluster.WithService("default", "other", 443, http.NotFoundHandler()))
		definition, err := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Get(t.Context(), "crontabs.example.com", metav1.GetOptions{})
		must(t, err)
		equal(t, "bundle", string(definition.Spec.Conversion.Webhook.ClientConfig.CABundle), "")
	})
}

func TestAConversionWithoutItsDefinitionIsRefused(t *testing.T) {
	convert := fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(parts))
	equal(t, "no definition", refused(t, convert), "WithConversion: there is no definition crontabs.example.com; give it to WithCRDPaths, WithManifests or WithObjects")
	equal(t, "another version", refused(t, fakecluster.WithLegacyAPIs(), fakecluster.WithCRDPaths(inV1beta1), convert),
		inV1beta1+": document 1: WithConversion: the definition crontabs.example.com is in apiextensions.k8s.io/v1beta1; write it in apiextensions.k8s.io/v1")
	equal(t, "twice", refused(t, fakecluster.WithCRDPaths(withoutWebhook), convert, convert),
		"WithConversion: crontabs.example.com is given twice; give one handler for each definition")
	for want, option := range map[string]fakecluster.Option{
		"WithConversion: the name of the definition is empty; write one such as crontabs.example.com":           fakecluster.WithConversion("", fakecluster.ConversionFunc(parts)),
		"WithConversion: the handler for crontabs.example.com is nil; give a ConversionFunc or an http.Handler": fakecluster.WithConversion("crontabs.example.com", nil),
	} {
		equal(t, "error", refused(t, option), want)
	}
	equal(t, "a nil function", refused(t, fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(nil))),
		"WithConversion: the handler for crontabs.example.com is nil; give a ConversionFunc or an http.Handler")
}

func TestAConversionFuncRefusesOtherBodiesThanReviews(t *testing.T) {
	wants := map[string]string{`{}`: "a ConversionReview without a request\n"}
	for _, body := range []string{"no", `{"request":{"objects":1}}`} { // with the text of this release of Go
		wants[body] = json.Unmarshal([]byte(body), &apiextensionsv1.ConversionReview{}).Error() + "\n"
	}
	for body, want := range wants {
		w := httptest.NewRecorder()
		fakecluster.ConversionFunc(parts).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		equal(t, body, []any{w.Code, w.Body.String()}, []any{http.StatusBadRequest, want})
	}
}

// TestARequestEndsBeforeTheConversionThatItNeeds has a webhook that takes its 30 seconds. Requests that need it end
// at their own deadline.
func TestARequestEndsBeforeTheConversionThatItNeeds(t *testing.T) {
	const path = "/apis/example.com/v1/namespaces/default/crontabs"
	for rule, request := range map[string]func(*clientrest.RESTClient) *clientrest.Request{
		"a get":  func(c *clientrest.RESTClient) *clientrest.Request { return c.Get().AbsPath(path, "a") },
		"a list": func(c *clientrest.RESTClient) *clientrest.Request { return c.Get().AbsPath(path) },
		"a selection": func(c *clientrest.RESTClient) *clientrest.Request {
			return c.Get().AbsPath(path).Param("labelSelector", "a=b")
		},
		"a delete":          func(c *clientrest.RESTClient) *clientrest.Request { return c.Delete().AbsPath(path, "a") },
		"a deletion of all": func(c *clientrest.RESTClient) *clientrest.Request { return c.Delete().AbsPath(path) },
		"a patch": func(c *clientrest.RESTClient) *clientrest.Request {
			return c.Patch(types.MergePatchType).AbsPath(path, "a").Body([]byte(`{"metadata":{"labels":{"a":"b"}}}`))
		},
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook), fakecluster.WithConversion("crontabs.example.com",
					fakecluster.ConversionFunc(func(ctx context.Context, _ *unstructured.Unstructured, _ string) error {
						<-ctx.Done()
						return ctx.Err()
					})))
				create(t, cronTabsIn(c, "v1beta1"), &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": map[string]any{"name": "a", "labels": map[string]any{"a": "b"}}, "hostPort": "localhost:1234",
				}})
				began := time.Now()
				err := request(kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().RESTClient().(*clientrest.RESTClient)).Param("timeout", "1s").Do(t.Context()).Error()
				if err == nil || !strings.Contains(err.Error(), "the server was unable to return a response in the time allotted, but may still be processing the request") {
					t.Errorf("error %v", err)
				}
				equal(t, "after", time.Since(began), time.Second)
			})
		})
	}
}

func TestAConversionThatHangsEndsAtItsTimeoutOrWithTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook), fakecluster.WithConversion("crontabs.example.com",
			fakecluster.ConversionFunc(func(ctx context.Context, _ *unstructured.Unstructured, _ string) error {
				<-ctx.Done()
				return ctx.Err()
			})))
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": map[string]any{"name": "a"}, "hostPort": "localhost:1234",
		}}
		create(t, cronTabsIn(c, "v1beta1"), object)
		get := func() (string, time.Duration) {
			began := time.Now()
			_, err := cronTabsIn(c, "v1").Get(t.Context(), "a", metav1.GetOptions{})
			return fmt.Sprint(err), time.Since(began)
		}
		const call = `: conversion webhook for example.com/v1beta1, Kind=CronTab failed: Post "https://crontabs.example.com.default.svc:443/?timeout=30s": `
		text, took := get()
		// The client has a timeout, and so has its request. Either may come first.
		_, failure, called := strings.Cut(text, call)
		if !called || took != 30*time.Second ||
			failure != "context deadline exceeded" && !strings.HasSuffix(failure, " (Client.Timeout exceeded while awaiting headers)") {
			t.Errorf("after %v: %s", took, text)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if text, took := get(); text == "<nil>" || took != 0 {
				t.Errorf("%v after the end of the cluster: %s", took, text)
			}
		}()
		synctest.Wait()
		must(t, c.Close())
		<-done
	})
}

// A request does not wait longer for its conversion than its client does.
func TestAHangingConversionDoesNotDelayTheResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook), fakecluster.WithConversion("crontabs.example.com",
			fakecluster.ConversionFunc(func(context.Context, *unstructured.Unstructured, string) error {
				time.Sleep(20 * time.Second)
				return errors.New("too late")
			})))
		create(t, cronTabsIn(c, "v1beta1"), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": map[string]any{"name": "a"}, "hostPort": "localhost:1234",
		}})
		client, err := clientrest.HTTPClientFor(c.RESTConfig())
		must(t, err)
		const collection = "/apis/example.com/v1/namespaces/default/crontabs"
		for _, request := range [][2]string{
			{http.MethodGet, collection}, {http.MethodGet, collection + "/a"}, {http.MethodPatch, collection + "/a"}, {http.MethodDelete, collection + "/a"}, {http.MethodDelete, collection},
		} {
			req, err := http.NewRequestWithContext(t.Context(), request[0], c.URL()+request[1]+"?timeout=3s", strings.NewReader(`{}`))
			must(t, err)
			req.Header.Set("Content-Type", "application/json")
			if request[0] == http.MethodPatch {
				req.Header.Set("Content-Type", "application/merge-patch+json")
			}
			began := time.Now()
			res, err := client.Do(req)
			must(t, err)
			must(t, res.Body.Close())
			equal(t, fmt.Sprint(request, " is answered after"), fmt.Sprint(res.StatusCode, " ", time.Since(began)), "504 3s")
		}
	})
}

// A call of a busy webhook is repeated, after the time of its Retry-After.
func TestAConversionWaitsForABusyWebhook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook), fakecluster.WithConversion("crontabs.example.com",
			http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if calls++; calls <= 2 {
					w.Header().Set("Retry-After", "5")
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				fakecluster.ConversionFunc(parts).ServeHTTP(w, req)
			})))
		create(t, cronTabsIn(c, "v1beta1"), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": map[string]any{"name": "a"}, "hostPort": "localhost:1234",
		}})
		began := time.Now()
		got, err := cronTabsIn(c, "v1").Get(t.Context(), "a", metav1.GetOptions{})
		must(t, err)
		equal(t, "host", got.Object["host"], any("localhost"))
		equal(t, "calls and time", fmt.Sprint(calls, " ", time.Since(began)), "3 10s")
	})
}
