package flowcontrol_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	upstream "k8s.io/apiserver/pkg/util/flowcontrol"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/internal/flowcontrol"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/internal/testing/storetest"
	"github.com/fakecluster/fakecluster/store"
)

// put stores an object under a key, and reports the change.
func put(t *testing.T, s *store.Store, schemas *flowcontrol.Schemas, key string, obj any) {
	t.Helper()
	storetest.Put(t, s, key, obj)
	schemas.Changed(s.Revision())
}

func open(t *testing.T) (*store.Store, *flowcontrol.Schemas) {
	t.Helper()
	s := storetest.Open(t, store.Options{})
	return s, flowcontrol.New(s, schemas, levels)
}

const (
	schemas = "/registry/flowschemas/"
	levels  = "/registry/prioritylevelconfigurations/"
)

// random makes configurations and requests of a few names, so that they often match.
type random struct{ *rand.Rand }

func (r random) pick(texts ...string) string { return seedtest.Pick(r.Rand, texts...) }

func (r random) some(texts ...string) []string {
	if r.IntN(4) == 0 {
		return []string{"*"}
	}
	var some []string
	for range 1 + r.IntN(2) {
		some = append(some, r.pick(texts...))
	}
	return some
}

var (
	users      = []string{"jane", "system:serviceaccount:a:x", "system:serviceaccount:a:y", "system:serviceaccount:ab:x", "system:serviceaccount:a", "system:node:n"}
	groups     = []string{"dev", "system:masters", "system:authenticated", "system:unauthenticated"}
	verbs      = []string{"get", "list", "create", "watch"}
	apiGroups  = []string{"", "apps"}
	resources  = []string{"pods", "pods/status", "deployments"}
	namespaces = []string{"a", "b"}
	urls       = []string{"/healthz", "/healthz/*", "/healthz*", "/healthz/", "/", "/*", "/metrics", "/openapi/v2"}
	paths      = []string{"/healthz", "/healthz/", "/healthz/ping", "/healthzz", "/", "/metrics", "/metrics/slis", "/openapi/v2"}
)

func (r random) subject() flowcontrolv1.Subject {
	switch r.IntN(4) {
	case 0:
		return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: r.some(users...)[0]}}
	case 1:
		return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: r.some(groups...)[0]}}
	case 2:
		return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindServiceAccount}
	default:
		return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindServiceAccount, ServiceAccount: &flowcontrolv1.ServiceAccountSubject{
			Namespace: r.pick("a", "ab", "b"), Name: r.some("x", "y")[0]}}
	}
}

func (r random) schema(name string) *flowcontrolv1.FlowSchema {
	fs := &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid of " + name)}}
	fs.Spec.MatchingPrecedence = int32(1 + r.IntN(4))
	fs.Spec.PriorityLevelConfiguration.Name = r.pick("one", "two", "missing", "exempt")
	for range 1 + r.IntN(2) {
		var rule flowcontrolv1.PolicyRulesWithSubjects
		for range 1 + r.IntN(2) {
			rule.Subjects = append(rule.Subjects, r.subject())
		}
		if r.IntN(3) > 0 {
			rule.ResourceRules = []flowcontrolv1.ResourcePolicyRule{{
				Verbs: r.some(verbs...), APIGroups: r.some(apiGroups...), Resources: r.some(resources...), Namespaces: r.some(namespaces...), ClusterScope: r.IntN(2) == 0,
			}}
		}
		if r.IntN(3) > 0 {
			rule.NonResourceRules = []flowcontrolv1.NonResourcePolicyRule{{Verbs: r.some(verbs...), NonResourceURLs: r.some(urls...)}}
		}
		fs.Spec.Rules = append(fs.Spec.Rules, rule)
	}
	return fs
}

func level(name string) *flowcontrolv1.PriorityLevelConfiguration {
	pl := &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid of level " + name)}}
	if name == "exempt" {
		pl.Spec = flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementExempt, Exempt: &flowcontrolv1.ExemptPriorityLevelConfiguration{}}
		return pl
	}
	pl.Spec = flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementLimited, Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
		NominalConcurrencyShares: ptr.To[int32](10), LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject}}}
	return pl
}

func (r random) request() (*apirequest.RequestInfo, user.Info) {
	by := &user.DefaultInfo{Name: r.pick(users...)}
	for range r.IntN(3) {
		by.Groups = append(by.Groups, r.pick(groups...))
	}
	info := &apirequest.RequestInfo{Verb: r.pick(verbs...)}
	if r.IntN(3) == 0 {
		info.Path = r.pick(paths...)
		return info, by
	}
	info.IsResourceRequest, info.APIGroup, info.Resource = true, r.pick(apiGroups...), r.pick("pods", "deployments")
	info.Subresource, info.Namespace = r.pick("", "status"), r.pick("", "a", "b")
	return info, by
}

// In random configurations, random requests match what they match by upstream's code.
func TestRequestsMatchAsUpstreamMatchesThem(t *testing.T) {
	random := random{seedtest.Rand(t)}
	for range seedtest.Cases(100) {
		synctest.Test(t, func(t *testing.T) { compareOne(t, random) })
		if t.Failed() {
			return
		}
	}
}

func compareOne(t *testing.T, random random) {
	s, ours := open(t)
	client := fake.NewClientset()
	for _, name := range []string{"one", "two", "exempt", "catch-all"} {
		if random.IntN(4) > 0 {
			pl := level(name)
			put(t, s, ours, levels+name, pl)
			if err := client.Tracker().Add(pl); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := range random.IntN(8) {
		fs := random.schema(seedtest.Pick(random.Rand, fmt.Sprintf("schema-%d", n), "exempt", "catch-all"))
		if client.Tracker().Add(fs) == nil { // not a second one of that name
			put(t, s, ours, schemas+fs.Name, fs)
		}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	theirs := upstream.New(factory, client.FlowcontrolV1(), 600)
	ctx, stop := context.WithCancel(t.Context())
	defer synctest.Wait()
	defer factory.Shutdown()
	defer stop()
	factory.Start(ctx.Done())
	go func() { _ = theirs.Run(ctx.Done()) }()
	time.Sleep(time.Second) // it polls whether its caches have synced
	synctest.Wait()
	for range 50 {
		info, by := random.request()
		var want [4]string
		theirs.Handle(apirequest.WithRequestInfo(ctx, info), upstream.RequestDigest{RequestInfo: info, User: by},
			func(fs *flowcontrolv1.FlowSchema, pl *flowcontrolv1.PriorityLevelConfiguration, _ string) {
				want = [4]string{fs.Name, string(fs.UID), pl.Name, string(pl.UID)}
			}, func() fcrequest.WorkEstimate { return fcrequest.WorkEstimate{InitialSeats: 1} }, func(bool) {}, func() {})
		schema, err := ours.Match(info, by)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, [4]string{schema.Name, schema.UID, schema.Level, schema.LevelUID}); diff != "" {
			t.Errorf("%+v of %+v (-upstream +ours):\n%s", info, by, diff)
		}
	}
}

func TestAChangedSchemaMatchesTheNextRequest(t *testing.T) {
	s, ours := open(t)
	info, by := &apirequest.RequestInfo{Verb: "get", Path: "/metrics"}, &user.DefaultInfo{Name: "jane", Groups: []string{user.AllAuthenticated}}
	expect := func(what, want string) {
		t.Helper()
		got, err := ours.Match(info, by)
		if err != nil {
			t.Fatal(err)
		}
		if got.Name != want {
			t.Errorf("%s: %s, want %s", what, got.Name, want)
		}
	}
	expect("an empty store has what a server must have", "catch-all")
	fs := &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
	fs.Spec.PriorityLevelConfiguration.Name, fs.Spec.MatchingPrecedence = "mine", 5
	fs.Spec.Rules = []flowcontrolv1.PolicyRulesWithSubjects{{
		Subjects:         []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: "jane"}}},
		NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"/metrics"}}},
	}}
	put(t, s, ours, schemas+"mine", fs)
	expect("without its level", "catch-all")
	put(t, s, ours, levels+"mine", level("mine"))
	expect("with its level", "mine")
	fs.Spec.Rules[0].NonResourceRules[0].Verbs = []string{"list"}
	put(t, s, ours, schemas+"mine", fs)
	expect("with another rule", "catch-all")
	by.Groups = []string{user.SystemPrivilegedGroup}
	expect("an administrator", "exempt")
	by.Groups = nil
	expect("nobody's group", "catch-all")
}

func BenchmarkMatch(b *testing.B) {
	s := storetest.Open(b, store.Options{})
	ours := flowcontrol.New(s, schemas, levels)
	for name, by := range map[string]user.Info{
		"administrator":  &user.DefaultInfo{Name: "a", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}},
		"the last match": &user.DefaultInfo{Name: "a", Groups: []string{"b", user.AllAuthenticated}},
	} {
		b.Run(name, func(b *testing.B) {
			info := &apirequest.RequestInfo{Verb: "get", IsResourceRequest: true, Resource: "pods", Namespace: "a"}
			for b.Loop() {
				schema, err := ours.Match(info, by)
				if err != nil {
					b.Fatal(err)
				}
				r := schema.Begin(false, time.Now())
				r.End()
			}
		})
	}
}
