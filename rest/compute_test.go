package rest_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/warning"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/store"
)

// stuck stands for code that computes for long. It allows everything, but while it has a channel, it waits for
// that, whatever becomes of its context, before a user grants a right.
type stuck struct{ until atomic.Pointer[chan struct{}] }

func (s *stuck) authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if until := s.until.Load(); until != nil && a.GetVerb() == "escalate" {
		<-*until
	}
	return authorizer.DecisionAllow, "", nil
}

// hold makes what follows wait until the function that it returns is called.
func (s *stuck) hold() (release func()) {
	until := make(chan struct{})
	s.until.Store(&until)
	return func() {
		s.until.Store(nil)
		close(until)
	}
}

// as sends a request as jane, who is a member of the groups. Errors name its agent.
func (c *cluster) as(ctx context.Context, method, target, mediaType, body string, groups ...string) answer {
	req := httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+c.server.Users.TokenFor("jane", groups...))
	req.Header.Set("Content-Type", mediaType)
	req.Header.Set("User-Agent", "kubectl/v1")
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, req)
	return answer{w.Code, w.Result().Header, w.Body.String()}
}

const (
	rolesPath  = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
	rolesRules = `"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]`

	allotted = `{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504}` + "\n"
	tooLate  = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: request did not complete within requested timeout - context deadline exceeded","reason":"Timeout","details":{},"code":504}` + "\n"
)

// largeRole is a Role that takes 20 KiB.
func largeRole(name, label string) string {
	return fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":%q,"labels":{"l":%q},"annotations":{"a":%q}},%s}`,
		name, label, strings.Repeat("x", 20<<10), rolesRules)
}

// TestALargeWriteIsAnsweredAtItsDeadline has writes that compute without looking at their contexts. They are answered
// at their deadline, and nothing of them is stored when the computation ends.
func TestALargeWriteIsAnsweredAtItsDeadline(t *testing.T) {
	const stored, other = rolesPath + "/stored", rolesPath + "/other"
	for _, tt := range []struct{ rule, method, path, mediaType, body string }{
		{"a large body to create", "POST", rolesPath, "application/json", largeRole("other", "new")},
		{"a large body to put", "PUT", stored, "application/json", largeRole("stored", "new")},
		{"a large patch", "PATCH", stored, "application/strategic-merge-patch+json", largeRole("stored", "new")},
		{"a large configuration to apply", "PATCH", other + "?fieldManager=m", "application/apply-patch+yaml", largeRole("other", "new")},
		{"a small patch of a large object", "PATCH", stored, "application/merge-patch+json",
			`{"metadata":{"labels":{"l":"new"}},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["list"]}]}`},
		{"a small patch that copies", "PATCH", rolesPath + "/small", "application/json-patch+json", `[{"op":"copy","from":"/rules/0","path":"/rules/-"}]`},
	} {
		for timeout, want := range map[time.Duration]string{0: tooLate, 3 * time.Second: allotted} {
			t.Run(fmt.Sprint(tt.rule, " ", timeout), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &stuck{}
					c := startInProcess(t, func(o *options, _ *store.Options) { o.Authorizer = authorizer.AuthorizerFunc(s.authorize) })
					for _, body := range []string{largeRole("stored", "old"), strings.Replace(largeRole("small", "old"), strings.Repeat("x", 20<<10), "", 1)} {
						if a := c.serve("POST", rolesPath, jsonBody, []byte(body)); a.code != 201 {
							t.Fatal(a)
						}
					}
					before := c.serve("GET", rolesPath, nil, nil).body
					path, lasts := tt.path, 34*time.Second
					if timeout > 0 {
						lasts = timeout
						path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "timeout=" + timeout.String()
					}
					release, began := s.hold(), time.Now()
					a := c.as(t.Context(), tt.method, path, tt.mediaType, tt.body)
					expect(t, "code", a.code, 504)
					expect(t, "answer", a.body, want)
					expect(t, "after", time.Since(began), lasts)
					expect(t, "the headers of the flow", a.header.Get("X-Kubernetes-PF-FlowSchema-UID") != "", want == tooLate)
					if requests := c.server.History.Requests(); requests[len(requests)-1].Code != 504 || requests[len(requests)-1].Running {
						t.Errorf("the history has %v", requests[len(requests)-1])
					}
					release()
					if err := c.handler.Drain(time.Hour); err != nil {
						t.Error(err)
					}
					expect(t, "the objects", c.serve("GET", rolesPath, nil, nil).body, before)
				})
			})
		}
	}
}

// TestALargeReviewIsAnsweredAtItsDeadline has a review whose authorizer ignores its context.
func TestALargeReviewIsAnsweredAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{}
		c := startInProcess(t, func(o *options, _ *store.Options) { o.Authorizer = authorizer.AuthorizerFunc(s.authorize) })
		release, began := s.hold(), time.Now()
		a := c.as(t.Context(), "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews?timeout=3s", "application/json", fmt.Sprintf(
			`{"spec":{"user":"jane","extra":{"a":[%q]},"resourceAttributes":{"verb":"escalate","resource":"roles"}}}`, strings.Repeat("x", 20<<10)))
		expect(t, "answer", fmt.Sprint(a.code, " ", a.body), "504 "+allotted)
		expect(t, "after", time.Since(began), 3*time.Second)
		release()
		if err := c.handler.Drain(time.Hour); err != nil {
			t.Error(err)
		}
	})
}

// evictionHook is an admission function that ignores its context when a Pod is evicted.
type evictionHook struct{ release chan struct{} }

func (h evictionHook) Mutate(_ context.Context, w *restadmission.Write) error {
	if w.GetSubresource() == "eviction" {
		<-h.release
	}
	return nil
}

func (evictionHook) Validate(context.Context, *restadmission.Write) error { return nil }

// TestAnEvictionIsAnsweredAtItsDeadline has an eviction that a function holds up. The Pod stays.
func TestAnEvictionIsAnsweredAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := evictionHook{make(chan struct{})}
		c := startInProcess(t, withPlugin(h))
		if a := c.serve("POST", podsPath, jsonBody, []byte(`{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)); a.code != 201 {
			t.Fatal(a)
		}
		began := time.Now()
		a := c.serve("POST", podsPath+"/p/eviction?timeout=3s", jsonBody, []byte(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`))
		expect(t, "answer", fmt.Sprint(a.code, " ", a.body), "504 "+allotted)
		expect(t, "after", time.Since(began), 3*time.Second)
		close(h.release)
		if err := c.handler.Drain(time.Hour); err != nil {
			t.Error(err)
		}
		expect(t, "the pod", gjson.Get(c.serve("GET", podsPath+"/p", nil, nil).body, "metadata.deletionTimestamp").Exists(), false)
	})
}

// A client that goes away, and a server that is closed, end a request that computes, too.
func TestALargeWriteEndsWithItsClientAndTheServer(t *testing.T) {
	t.Run("the client goes away", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &stuck{}
			c := startInProcess(t, func(o *options, _ *store.Options) { o.Authorizer = authorizer.AuthorizerFunc(s.authorize) })
			defer s.hold()()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			c.as(ctx, "POST", rolesPath, "application/json", largeRole("a", ""))
			expect(t, "it ends after", time.Since(began), time.Second)
		})
	})
	t.Run("the server is closed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &stuck{}
			c := startInProcess(t, func(o *options, _ *store.Options) { o.Authorizer = authorizer.AuthorizerFunc(s.authorize) })
			if err := c.handler.Drain(time.Hour); err != nil {
				t.Error("nothing computes yet:", err)
			}
			release, began := s.hold(), time.Now()
			ended := make(chan answer)
			go func() { ended <- c.as(context.Background(), "POST", rolesPath, "application/json", largeRole("a", "")) }()
			time.Sleep(time.Second)
			c.server.Close()
			a := <-ended
			expect(t, "it ends with", fmt.Sprint(a.code, " ", a.body), "503 the cluster is closed\n")
			err := c.handler.Drain(5 * time.Second)
			expect(t, "error", fmt.Sprint(err),
				"kubectl create of roles.rbac.authorization.k8s.io in default still computes, since 6s; nothing can interrupt it, and its result is dropped")
			expect(t, "after", time.Since(began), 6*time.Second)
			release()
			if err := c.handler.Drain(time.Hour); err != nil {
				t.Error(err)
			}
			expect(t, "then after", time.Since(began), 6*time.Second)
		})
	})
}

// hooked is an admission function that is called for ConfigMaps.
type hooked func(context.Context, *restadmission.Write) error

func (h hooked) Mutate(ctx context.Context, w *restadmission.Write) error {
	if w.GetResource().Resource != "configmaps" {
		return nil
	}
	return h(ctx, w)
}

func (hooked) Validate(context.Context, *restadmission.Write) error { return nil }

// TestWhatAHookDoesAfterTheAnswerHarmsNobody has a function that ignores its context, and ends in each way that there is.
func TestWhatAHookDoesAfterTheAnswerHarmsNobody(t *testing.T) {
	for name, end := range map[string]func(context.Context){
		"it returns":  func(context.Context) {},
		"it panics":   func(context.Context) { panic("boom") },
		"it exits":    func(context.Context) { runtime.Goexit() },
		"it warns":    func(ctx context.Context) { warning.AddWarning(ctx, "", "late") },
		"it aborts":   func(context.Context) { panic(http.ErrAbortHandler) },
		"it explains": func(ctx context.Context) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				c := startInProcess(t, withPlugin(hooked(func(ctx context.Context, _ *restadmission.Write) error {
					<-release
					end(ctx)
					return nil
				})))
				header := http.Header{"Content-Type": {"application/json"}}
				if name == "it explains" {
					header["Fakecluster-Explain"] = []string{"json"}
				}
				a := c.serve("POST", configMapsPath+"?timeout=1s", header, []byte(`{"metadata":{"name":"a"}}`))
				expect(t, "code", a.code, 504)
				close(release)
				if err := c.handler.Drain(time.Hour); err != nil {
					t.Error(err)
				}
				expect(t, "warnings", a.header["Warning"], []string(nil))
				expect(t, "the object", c.serve("GET", configMapsPath+"/a", nil, nil).code, 404)
			})
		})
	}
}

// A hook that panics or exits in time ends its request as if it ran on the request's own goroutine.
func TestAHookEndsItsRequest(t *testing.T) {
	var end func()
	c := startInProcess(t, withPlugin(hooked(func(context.Context, *restadmission.Write) error {
		end()
		return nil
	})))
	create := func() answer {
		return c.serve("POST", configMapsPath, jsonBody, []byte(`{"metadata":{"name":"a"}}`))
	}
	end = func() { panic("boom") }
	expect(t, "a panic", create().code, 500)
	if requests := c.server.History.Requests(); requests[len(requests)-1].Message != "boom" {
		t.Errorf("the history has %q", requests[len(requests)-1].Message)
	}
	end = func() { panic(http.ErrAbortHandler) }
	func() {
		defer func() { expect(t, "an abort", recover() == http.ErrAbortHandler, true) }()
		create()
	}()
	end = runtime.Goexit
	var returned bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		create()
		returned = true
	}()
	<-done
	expect(t, "it returns", returned, false)
}

// A deletecollection stops at its deadline, between two objects.
func TestDeleteCollectionStopsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInProcess(t, withPlugin(hooked(func(_ context.Context, w *restadmission.Write) error {
			if w.GetOperation() == admission.Delete {
				time.Sleep(time.Second)
			}
			return nil
		})))
		for n := range 5 {
			if a := c.serve("POST", configMapsPath, jsonBody, fmt.Appendf(nil, `{"metadata":{"name":"cm-%d"}}`, n)); a.code != 201 {
				t.Fatal(a)
			}
		}
		a := c.serve("DELETE", configMapsPath+"?timeout=2500ms", nil, nil)
		expect(t, "answer", fmt.Sprint(a.code, " ", a.body), "504 "+allotted)
		time.Sleep(time.Minute)
		expect(t, "left", gjson.Get(c.serve("GET", configMapsPath, nil, nil).body, "items.#.metadata.name").String(), `["cm-2","cm-3","cm-4"]`)
	})
}

// The deletion of a namespace goes on after the deadline of the request, as it does on a real server, and ends with
// the server.
func TestTheDeletionOfANamespaceOutlastsItsRequest(t *testing.T) {
	for _, closes := range []bool{false, true} {
		t.Run(fmt.Sprintf("the server is closed: %v", closes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var deleted atomic.Int32
				c := startInProcess(t, withPlugin(hooked(func(_ context.Context, w *restadmission.Write) error {
					if w.GetOperation() == admission.Delete {
						time.Sleep(time.Second)
						deleted.Add(1)
					}
					return nil
				})))
				c.serve("POST", "/api/v1/namespaces", jsonBody, []byte(`{"metadata":{"name":"full"}}`))
				for n := range 5 {
					if a := c.serve("POST", "/api/v1/namespaces/full/configmaps", jsonBody, fmt.Appendf(nil, `{"metadata":{"name":"cm-%d"}}`, n)); a.code != 201 {
						t.Fatal(a)
					}
				}
				began := time.Now()
				a := c.serve("DELETE", "/api/v1/namespaces/full?timeout=2500ms", nil, nil)
				expect(t, "answer", fmt.Sprint(a.code, " ", a.body), "504 "+allotted)
				expect(t, "after", time.Since(began), 2500*time.Millisecond)
				if closes {
					c.server.Close()
				}
				if err := c.handler.Drain(time.Hour); err != nil {
					t.Error(err)
				}
				if closes {
					expect(t, "deleted", deleted.Load(), int32(3))
					return
				}
				expect(t, "deleted", deleted.Load(), int32(5))
				expect(t, "the namespace", c.serve("GET", "/api/v1/namespaces/full", nil, nil).code, 404)
			})
		})
	}
}

// TestWhatFollowsADeleteDoesNotDelayTheAnswer has no hooks and only small objects. The clock of the cluster waits when
// a controller reads it.
func TestWhatFollowsADeleteDoesNotDelayTheAnswer(t *testing.T) {
	for _, tt := range []struct{ path, object, content, step string }{
		{"/api/v1/namespaces", `{"metadata":{"name":"a","uid":""}}`, "/api/v1/namespaces/a/configmaps", "controller.syncNamespace"},
		{definitionsPath, definition(t, "widgets"), widgetsPath, "controller.syncDeletedDefinition"},
		{configMapsPath, `{"metadata":{"name":"a"}}`, configMapsPath, "controller.(*collector).collectGarbage"},
	} {
		t.Run(tt.step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var release atomic.Pointer[chan struct{}]
				c := startInProcess(t, func(o *options, _ *store.Options) {
					if strings.Contains(tt.step, "collector") { // it alone makes every delete one that may take long
						o.Controllers = append(o.Controllers, "garbage-collector-controller")
					}
					o.Now = func() time.Time {
						if until := release.Load(); until != nil && isCalledBy(tt.step) {
							<-*until
						}
						return time.Now()
					}
				})
				owner := c.serve("POST", tt.path, jsonBody, []byte(tt.object))
				name := gjson.Get(owner.body, "metadata.name").Str
				content := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":%q}]}}`,
					gjson.Get(owner.body, "metadata.uid").Str)
				switch tt.step {
				case "controller.syncDeletedDefinition":
					content = widget("b")
				case "controller.syncNamespace":
					content = `{"metadata":{"name":"b"}}`
				}
				if a := c.serve("POST", tt.content, jsonBody, []byte(content)); a.code != 201 {
					t.Fatal(owner, a)
				}
				until, began := make(chan struct{}), time.Now()
				release.Store(&until)
				a := c.serve("DELETE", tt.path+"/"+name+"?timeout=3s", nil, nil)
				expect(t, "answer", fmt.Sprint(a.code, " ", a.body), "504 "+allotted)
				expect(t, "after", time.Since(began), 3*time.Second)
				release.Store(nil)
				close(until)
				if err := c.handler.Drain(time.Hour); err != nil {
					t.Error(err)
				}
				expect(t, "the owner", c.serve("GET", tt.path+"/"+name, nil, nil).code, 404)
				expect(t, "its content", c.serve("GET", tt.content+"/b", nil, nil).code, 404)
			})
		})
	}
}

// isCalledBy reports whether a function is among the callers of its caller.
func isCalledBy(name string) bool {
	callers := make([]uintptr, 100)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if strings.Contains(frame.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}

// TestALargePatchIsRight: what computes on a goroutine of its own says the same as what does not.
func TestALargePatchIsRight(t *testing.T) {
	c := startInProcess(t)
	if a := c.serve("POST", podsPath, jsonBody, []byte(`{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)); a.code != 201 {
		t.Fatal(a)
	}
	var env bytes.Buffer
	const variables = 1_000
	for n := range variables {
		fmt.Fprintf(&env, `{"name":"V%d","value":"v"},`, n)
	}
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i","env":[%s]}]}}}}`, strings.TrimSuffix(env.String(), ","))
	const deployments = "/apis/apps/v1/namespaces/default/deployments"
	if a := c.serve("POST", deployments, jsonBody, []byte(`{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)); a.code != 201 {
		t.Fatal(a)
	}
	a := c.serve("PATCH", deployments+"/d", http.Header{"Content-Type": {"application/strategic-merge-patch+json"}}, []byte(patch))
	expect(t, "code", a.code, 200)
	expect(t, "variables", gjson.Get(a.body, "spec.template.spec.containers.0.env.#").Int(), int64(variables))
	a = c.serve("PATCH", deployments+"/d", http.Header{"Content-Type": {"application/strategic-merge-patch+json"}}, []byte(strings.Replace(patch, `"v"`, `7`, 1)))
	expect(t, "an invalid one", a.code, 422)
}
