package webhook

import (
	"context"
	"errors"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// unreachable is a cluster in which webhooks cannot be called.
type unreachable struct {
	admission.Cluster
	panics bool
}

func (u unreachable) HookClient(webhookutil.ClientConfig, bool) (*rest.RESTClient, error) {
	if u.panics {
		panic("no client")
	}
	return nil, errors.New("no client")
}

func (unreachable) Registry() *resource.Registry { return resource.NewRegistry(1, nil, nil) }

// configMaps is the version of ConfigMaps.
func configMaps(t *testing.T) *resource.Version {
	t.Helper()
	for _, r := range builtin.Resources(builtin.Options{}, nil) {
		if r.Names.Kind == "ConfigMap" {
			return r.Storage
		}
	}
	t.Fatal("there are no ConfigMaps")
	return nil
}

// callBoth calls one webhook for the create of a ConfigMap, in both phases.
func callBoth(t *testing.T, c admission.Cluster, dryRun bool, change func(*admissionregistrationv1.MutatingWebhook)) (mutating, validating error) {
	t.Helper()
	w := admissionregistrationv1.MutatingWebhook{
		Name: "hook.example.com", NamespaceSelector: nil, AdmissionReviewVersions: []string{"v1"},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{"*"},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
		}},
	}
	change(&w)
	hooks := compile("c", []admissionregistrationv1.MutatingWebhook{w}, "admit")
	for _, h := range hooks {
		h.namespaces, h.objects = labels.Everything(), labels.Everything()
	}
	plugin := &Webhooks{mutating: hooks, validating: hooks}
	v := configMaps(t)
	write := func() *admission.Write {
		attributes := upstream.NewAttributesRecord(&corev1.ConfigMap{}, nil, v.Kind(), "default", "a", v.GroupVersionResource(), "",
			upstream.Create, nil, dryRun, &user.DefaultInfo{})
		return admission.NewWrite(t.Context(), attributes, v, c)
	}
	return plugin.Mutate(t.Context(), write()), plugin.Validate(t.Context(), write())
}

// What can stand in a store of old, but not be stored.
func TestConfigurationsThatValidationKeepsOut(t *testing.T) {
	some, none := admissionregistrationv1.SideEffectClassSome, admissionregistrationv1.SideEffectClassNone
	for _, c := range []struct {
		rule   string
		change func(*admissionregistrationv1.MutatingWebhook)
		want   string
	}{
		{"side effects in a dry run", func(w *admissionregistrationv1.MutatingWebhook) { w.SideEffects = &some },
			`admission webhook "hook.example.com" does not support dry run`},
		{"no word of side effects", func(w *admissionregistrationv1.MutatingWebhook) {},
			`Internal error occurred: failed calling webhook "hook.example.com": Webhook SideEffects is nil`},
		{"no supported version", func(w *admissionregistrationv1.MutatingWebhook) {
			w.SideEffects, w.AdmissionReviewVersions = &none, []string{"v7"}
		}, `Internal error occurred: failed calling webhook "hook.example.com": could not create admission objects: ` +
			`webhook does not accept known AdmissionReview versions (v1, v1beta1)`},
		{"no client", func(w *admissionregistrationv1.MutatingWebhook) { w.SideEffects = &none },
			`Internal error occurred: failed calling webhook "hook.example.com": could not get REST client: no client`},
	} {
		mutating, validating := callBoth(t, unreachable{}, true, c.change)
		for phase, err := range map[string]error{"mutating": mutating, "validating": validating} {
			if err == nil || err.Error() != c.want {
				t.Errorf("%s, %s:\n got %v\nwant %s", c.rule, phase, err, c.want)
			}
		}
	}
}

func TestAPanicOfACallIsAnError(t *testing.T) {
	w := &webhook{MutatingWebhook: admissionregistrationv1.MutatingWebhook{Name: "hook.example.com", AdmissionReviewVersions: []string{"v1"}}}
	v := configMaps(t)
	write := admission.NewWrite(t.Context(), upstream.NewAttributesRecord(&corev1.ConfigMap{}, nil, v.Kind(), "default", "a",
		v.GroupVersionResource(), "", upstream.Create, nil, false, &user.DefaultInfo{}), v, unreachable{panics: true})
	attr, err := upstream.NewVersionedAttributes(write, v.Kind(), write)
	if err != nil {
		t.Fatal(err)
	}
	err = callAll(t.Context(), write, []*validation{{hook: w, to: &invocation{kind: v.Kind()}, attr: attr}})
	const want = "Internal error occurred: ValidatingAdmissionWebhook/hook.example.com has panicked: no client"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAWriteWhoseTimeIsUpCallsNoWebhook(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const want = "Timeout: request did not complete within requested timeout"
	if err := timedOut(ctx); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := timedOut(t.Context()); err != nil {
		t.Errorf("got %v before the time is up", err)
	}
}

// What decoding would not let through.
func TestAnAnswerOfAnotherKindIsInvalid(t *testing.T) {
	resp := &admissionv1.AdmissionReview{Response: &admissionv1.AdmissionResponse{UID: "1"}}
	_, err := (&review{uid: "1", response: resp}).check(true)
	const want = "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind="
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWhatIsCompiledOfARecordIsTakenOver(t *testing.T) {
	record := func(name string, revision int64) store.Record {
		return store.Record{Key: "/m/" + name, Revision: revision, Value: `{"metadata":{"name":"` + name + `"},"webhooks":[
			{"name":"a.example.com","matchConditions":[{"name":"x","expression":"true"}]},{"name":"a.example.com"}]}`}
	}
	made := func(former admission.Plugin, mutating, validating []store.Record) *Webhooks {
		t.Helper()
		present, err := New(former, mutating, validating)
		if err != nil {
			t.Fatal(err)
		}
		return present.(*Webhooks)
	}
	first := made(nil, []store.Record{record("a", 1), record("b", 2)}, []store.Record{record("v", 3)})
	second := made(first, []store.Record{record("a", 1), record("b", 4)}, []store.Record{record("v", 3)})
	var ids []string
	for _, w := range second.mutating {
		ids = append(ids, w.id)
	}
	if want := []string{"a/a.example.com/0", "a/a.example.com/1", "b/a.example.com/0", "b/a.example.com/1"}; !slices.Equal(ids, want) {
		t.Errorf("the webhooks are %v, want %v", ids, want)
	}
	if first.mutating[0] != second.mutating[0] || first.validating[0] != second.validating[0] {
		t.Error("a record that is the same was compiled again")
	}
	if first.mutating[2] == second.mutating[2] {
		t.Error("a record of another revision was not compiled again")
	}
	if none, err := New(second, nil, nil); none != nil || err != nil {
		t.Errorf("without configurations: %v, %v", none, err)
	}
	if _, err := New(nil, []store.Record{{Key: "/m/x", Value: "{"}}, nil); err == nil || err.Error() != "reading /m/x: unexpected end of JSON input" {
		t.Errorf("a record that cannot be read: %v", err)
	}
}
