package rest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fakecluster/fakecluster/internal/builtin"
)

type someCluster struct{ builtin.Cluster }

func TestUpstreamFindsTheStateOfARequestInItsContext(t *testing.T) {
	type key struct{}
	found := someCluster{}
	answer := httptest.NewRecorder()
	served := false
	h := behind([]filter{giveContext(found), parsePath}, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		served = true
		c := req.Context()
		if by, ok := apirequest.UserFrom(c); ok {
			t.Errorf("before authentication, the user is %v", by)
		}
		contextOf(req).user = &user.DefaultInfo{Name: "jane"}
		for name, ctx := range map[string]context.Context{"itself": c, "made of it": context.WithoutCancel(c)} {
			if cluster, err := builtin.ClusterFrom(ctx); err != nil || cluster != found {
				t.Errorf("%s: the cluster is %v, %v", name, cluster, err)
			}
			if info, _ := apirequest.RequestInfoFrom(ctx); info.Name != "blog" {
				t.Errorf("%s: the info is %v", name, info)
			}
			if by, ok := apirequest.UserFrom(ctx); !ok || by.GetName() != "jane" {
				t.Errorf("%s: the user is %v", name, by)
			}
			if got, ok := apirequest.NamespaceFrom(ctx); !ok || got != "default" {
				t.Errorf("%s: the namespace is %q", name, got)
			}
			warning.AddWarning(ctx, "", name)
			if got := ctx.Value(key{}); got != "of the connection" {
				t.Errorf("%s: the connection's value is %v", name, got)
			}
		}
	}))
	req := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/default/pods/blog", nil)
	h.ServeHTTP(answer, req.WithContext(context.WithValue(t.Context(), key{}, "of the connection")))
	if !served {
		t.Error("the request was not passed on")
	}
	if got := answer.Header()["Warning"]; len(got) != 2 {
		t.Errorf("the header is %q", got)
	}
}

// A key that upstream no longer looks for is noticed when the program starts.
func TestKeyOfPanicsWithoutOneKey(t *testing.T) {
	for name, find := range map[string]func(context.Context){
		"none": func(context.Context) {},
		"two":  func(ctx context.Context) { apirequest.UserFrom(ctx); apirequest.NamespaceFrom(ctx) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			keyOf(find)
		}()
	}
}

// A requestContext ends as one that context.WithDeadlineCause has made, whether or not something
// waits for it before.
func TestARequestContextEndsAtItsLimit(t *testing.T) {
	late := errors.New("late")
	type ending struct {
		err, cause error
		done       bool
	}
	endingOf := func(ctx context.Context) ending {
		e := ending{err: ctx.Err(), cause: context.Cause(ctx)}
		select {
		case <-ctx.Done():
			e.done = true
		default:
		}
		return e
	}
	const limit = time.Minute
	for name, end := range map[string]func(cancelParent, cancel context.CancelFunc){
		"before its limit":         func(_, _ context.CancelFunc) { time.Sleep(limit - 1) },
		"at its limit":             func(_, _ context.CancelFunc) { time.Sleep(limit) },
		"the connection ends":      func(parent, _ context.CancelFunc) { parent() },
		"the request ends":         func(_, cancel context.CancelFunc) { cancel() },
		"both end":                 func(parent, cancel context.CancelFunc) { cancel(); parent() },
		"the limit comes after it": func(_, cancel context.CancelFunc) { cancel(); time.Sleep(limit) },
	} {
		for waiting, wait := range map[string]func(context.Context) context.Context{
			"nothing waits":   func(ctx context.Context) context.Context { return ctx },
			"something waits": func(ctx context.Context) context.Context { ctx.Done(); return ctx },
			"a child waits": func(ctx context.Context) context.Context {
				child, cancel := context.WithCancel(ctx)
				t.Cleanup(cancel)
				return child
			},
			"a child waits when it has ended": nil,
		} {
			t.Run(name+", "+waiting, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancelParent := context.WithCancel(context.Background())
					defer cancelParent()
					want, cancel := context.WithDeadlineCause(parent, time.Now().Add(limit), late)
					defer cancel()
					c := &requestContext{Context: parent}
					c.limit.set(time.Now().Add(limit), late)
					defer c.limit.end()
					var actual, wanted context.Context = c, want
					if wait != nil {
						actual, wanted = wait(c), wait(want)
					}
					end(cancelParent, func() { cancel(); c.limit.end() })
					if wait == nil {
						var stop, stopWanted context.CancelFunc
						actual, stop = context.WithCancel(c)
						wanted, stopWanted = context.WithCancel(want)
						defer stop()
						defer stopWanted()
					}
					synctest.Wait()
					if got, want := endingOf(actual), endingOf(wanted); got != want {
						t.Errorf("the context ends with %+v, want %+v", got, want)
					}
					got, _ := actual.Deadline()
					if deadline, _ := wanted.Deadline(); !got.Equal(deadline) {
						t.Errorf("the deadline is %v, want %v", got, deadline)
					}
				})
			})
		}
	}
}
