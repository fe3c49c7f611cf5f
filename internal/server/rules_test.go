package server

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/audittrail"
	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/controller"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// onlyUpdates allows every update, and nothing else.
type onlyUpdates struct{ authorization.Authorizer }

func (onlyUpdates) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetVerb() == "update" {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "it is no update", nil
}

// An update or an apply that creates an object needs the right to create it, too.
func TestWhoMayCreateByAnUpdate(t *testing.T) {
	d := Access{Authorizer: onlyUpdates{}, Requested: &authorization.Access{}}
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	for rule, test := range map[string]struct {
		by   user.Info // nil: the server itself
		want bool
	}{
		"a user who may only update": {&user.DefaultInfo{Name: "jane"}, false},
		"the administrator":          {authentication.Admin, true},
		"the server itself":          {nil, true},
	} {
		ctx := t.Context()
		if test.by != nil {
			ctx = apirequest.WithUser(ctx, test.by)
		}
		err := d.mayCreate(ctx, configMaps, "default", "a")
		if got := err == nil; got != test.want || err != nil && !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

// A change of the client CAs is reported once.
func TestTrustChanges(t *testing.T) {
	data := map[string]string{"client-ca-file": "first"}
	trusted := trust{configured: func() map[string]string { return maps.Clone(data) }}
	for _, step := range []struct {
		rule   string
		change func()
		want   bool
	}{
		{"at the start", func() {}, true},
		{"unchanged", func() {}, false},
		{"another authority", func() { data["client-ca-file"] = "second" }, true},
		{"unchanged again", func() {}, false},
		{"a further one", func() { data["requestheader-client-ca-file"] = "third" }, true},
	} {
		step.change()
		if got := trusted.changed(); got != step.want {
			t.Errorf("%s: %t, want %t", step.rule, got, step.want)
		}
	}
}

// Lists expire that are older than an interval, and no later compaction makes them valid again, also after a restart.
func TestListsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		begin := func() *compaction {
			c := &compaction{interval: time.Minute, store: s, fail: func(message string) { t.Error(message) }}
			c.start()
			return c
		}
		pass := func() {
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		c := begin()
		pass()
		if got := c.expired.Load(); got != 0 {
			t.Errorf("after one interval: %d", got)
		}
		first := s.Revision()
		pass()
		if got := c.expired.Load(); got != first {
			t.Errorf("after two intervals: %d, want the revision %d at the end of the first", got, first)
		}
		c.stop()
		stopped := s.Revision()
		pass()
		if s.Revision() != stopped {
			t.Error("it goes on after its end")
		}
		again := begin()
		defer again.stop()
		for range 2 {
			if got := again.expired.Load(); got != first {
				t.Errorf("after a restart: %d, want %d", got, first)
			}
			pass()
		}
	})
}

// The audit event of a controller's write is that of the request which a real controller sends.
func TestTheEventOfAControllersWrite(t *testing.T) {
	registry := resource.NewRegistry(1, builtin.Resources(builtin.Options{}, nil), nil)
	for want, w := range map[string]write.Request{
		"/api/v1/namespaces/default/pods/a/status":          {Version: registry.Resource("", "pods").Version("v1"), Namespace: "default", Name: "a", Subresource: "status"},
		"/api/v1/namespaces/default/configmaps":             {Version: registry.Resource("", "configmaps").Version("v1"), Namespace: "default"},
		"/api/v1/namespaces/a":                              {Version: registry.Resource("", "namespaces").Version("v1"), Name: "a"},
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/a": {Version: registry.Resource("rbac.authorization.k8s.io", "clusterroles").Version("v1"), Name: "a"},
	} {
		e := ownWrites{audit: &audittrail.Trail{}, now: time.Now}.event(controller.ServiceAccount("namespace-controller"), "update", w)
		if got := e.Request.URL.Path; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if e.Info.Verb != "update" || e.Info.Resource != w.Version.Resource.Names.Plural || e.Info.Subresource != w.Subresource {
			t.Errorf("%s: %+v", want, e.Info)
		}
	}
}
