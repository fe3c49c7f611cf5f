package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// builtIn returns the resource of a plural name.
func builtIn(t *testing.T, plural string, legacyAPIs bool) *resource.Resource {
	t.Helper()
	resources := Resources(Options{LegacyAPIs: legacyAPIs}, nil)
	i := slices.IndexFunc(resources, func(r *resource.Resource) bool { return r.Names.Plural == plural })
	if i < 0 {
		t.Fatalf("there are no %s", plural)
	}
	return resources[i]
}

// internal is an object of a version as upstream's code sees it.
func internal(t *testing.T, v *resource.Version, obj runtime.Object) runtime.Object {
	t.Helper()
	out := v.Codec.New()
	if err := v.Codec.Objects().Convert(obj, out, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

// versioned is such an object as the version shows it, without what decoding it adds.
func versioned[T runtime.Object](t *testing.T, v *resource.Version, obj runtime.Object, out T) T {
	t.Helper()
	if err := v.Codec.Objects().Convert(obj, out, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

// background is the context of a request in v1.
func background(group, plural string) context.Context {
	return apirequest.WithRequestInfo(context.Background(), &apirequest.RequestInfo{APIGroup: group, APIVersion: "v1", Resource: plural})
}

// outline returns what the table of a resource says: its names, scope, versions (the stored
// one first, legacy ones with their warning) and subresources, and how it may be updated.
func outline(r *resource.Resource) string {
	scope := "cluster"
	if r.Namespaced {
		scope = "namespaced"
	}
	var versions []string
	for _, v := range r.Versions {
		name := v.Name
		if len(v.Warnings) > 0 {
			name += "!"
		}
		versions = append(versions, name)
	}
	s := r.Storage.Strategy
	line := fmt.Sprintf("%s %s %s %s %v %s", r.Group, strings.Join(append([]string{r.Names.Singular}, r.Names.ShortNames...), ","), r.Names.Kind, scope, versions,
		strings.Join(r.Storage.SubresourceNames(), ","))
	if s.AllowCreateOnUpdate(context.Background()) {
		line += " create-on-update"
	}
	if !s.AllowUnconditionalUpdate(context.Background()) {
		line += " conditional-only"
	}
	return line
}

func TestTheTableOfKinds(t *testing.T) {
	for plural, want := range map[string]string{
		"configmaps":      " configmap,cm ConfigMap namespaced [v1] ",
		"events":          " event,ev Event namespaced [v1]  create-on-update",
		"secrets":         " secret Secret namespaced [v1] ",
		"serviceaccounts": " serviceaccount,sa ServiceAccount namespaced [v1] token",
		"namespaces":      " namespace,ns Namespace cluster [v1] finalize,status",
		"leases":          "coordination.k8s.io lease Lease namespaced [v1]  create-on-update conditional-only",

		"mutatingwebhookconfigurations":     "admissionregistration.k8s.io mutatingwebhookconfiguration MutatingWebhookConfiguration cluster [v1]  conditional-only",
		"validatingwebhookconfigurations":   "admissionregistration.k8s.io validatingwebhookconfiguration ValidatingWebhookConfiguration cluster [v1]  conditional-only",
		"validatingadmissionpolicies":       "admissionregistration.k8s.io validatingadmissionpolicy ValidatingAdmissionPolicy cluster [v1 v1beta1!] status conditional-only",
		"validatingadmissionpolicybindings": "admissionregistration.k8s.io validatingadmissionpolicybinding ValidatingAdmissionPolicyBinding cluster [v1 v1beta1!]  conditional-only",
	} {
		if got := outline(builtIn(t, plural, true)); got != want {
			t.Errorf("%s:\n got %q\nwant %q", plural, got, want)
		}
	}
	if got := len(builtIn(t, "validatingadmissionpolicies", false).Versions); got != 1 {
		t.Errorf("without legacy APIs the policies have %d versions", got)
	}
}

func TestEveryStorePrefixBelongsToOneKind(t *testing.T) {
	prefixes := map[string]string{}
	for _, r := range Resources(Options{LegacyAPIs: true}, nil) {
		if r.Storage.Resource != r || r.Storage.Strategy == nil {
			continue // it stores nothing itself
		}
		if !strings.HasPrefix(r.Prefix, "/registry/") || !strings.HasSuffix(r.Prefix, "/") {
			t.Errorf("%s: the prefix is %q", r.Names.Plural, r.Prefix)
		}
		if other := prefixes[r.Prefix]; other != "" {
			t.Errorf("%s and %s have the prefix %s", other, r.Names.Plural, r.Prefix)
		}
		prefixes[r.Prefix] = r.Names.Plural
	}
}

func TestPreparingASecret(t *testing.T) {
	for _, c := range []struct {
		name     string
		given    corev1.Secret
		wantType corev1.SecretType
		wantData map[string][]byte
	}{
		{"without a type it is Opaque", corev1.Secret{}, corev1.SecretTypeOpaque, nil},
		{"a type stays", corev1.Secret{Type: "x"}, "x", nil},
		{"stringData becomes data", corev1.Secret{StringData: map[string]string{"a": "text"}}, corev1.SecretTypeOpaque, map[string][]byte{"a": []byte("text")}},
		{"stringData wins over data", corev1.Secret{Data: map[string][]byte{"a": []byte("x"), "b": []byte("y")}, StringData: map[string]string{"a": "text"}},
			corev1.SecretTypeOpaque, map[string][]byte{"a": []byte("text"), "b": []byte("y")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := builtIn(t, "secrets", false).Storage
			body, err := json.Marshal(c.given)
			if err != nil {
				t.Fatal(err)
			}
			info, _ := runtime.SerializerInfoForMediaType(v.Serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
			decoded, _, err := v.Codec.Decode(body, info.Serializer)
			if err != nil {
				t.Fatal(err)
			}
			secret := decoded.Object
			v.Strategy.PrepareForCreate(context.Background(), secret)
			want := &corev1.Secret{Type: c.wantType, Data: c.wantData}
			if diff := cmp.Diff(want, versioned(t, v, secret, &corev1.Secret{})); diff != "" {
				t.Errorf("secret (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMetadataOfABuiltInKind(t *testing.T) {
	named := func(namespace, name string) runtime.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	for _, c := range []struct {
		name string
		obj  runtime.Object
		want []string
	}{
		{"a DNS subdomain is a name", named("default", "a.b"), nil},
		{"a namespaced object needs a namespace", named("", "a"), []string{"metadata.namespace: Required value"}},
		{"other text is not a name", named("default", "A"), []string{`metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ` +
			`and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			v := builtIn(t, "configmaps", false).Storage
			for _, err := range registryrest.ValidateCreate(background("", "configmaps"), internal(t, v, c.obj), v.Strategy) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhichKindsAreDeletedInTheirOwnWay(t *testing.T) {
	var own []string
	for _, r := range Resources(Options{LegacyAPIs: true}, nil) {
		for _, v := range r.Versions {
			line := r.GroupResource().String() + " " + v.Name
			if policy := v.Deletion.Dependents; policy != nil {
				ctx := apirequest.WithRequestInfo(t.Context(), &apirequest.RequestInfo{APIGroup: r.Group, APIVersion: v.Name, Resource: r.Names.Plural})
				line += " " + string(policy(ctx))
			}
			if v.Deletion.Graceful != nil {
				line += " gracefully"
			}
			if v.Deletion.Warning != "" {
				line += " warned of"
			}
			if v.Deletion.Forbids != nil {
				line += " but some"
			}
			if strings.Count(line, " ") > 1 {
				own = append(own, line)
			}
		}
	}
	slices.Sort(own)
	if diff := cmp.Diff([]string{
		"cronjobs.batch v1 DeleteDependents",
		"daemonsets.apps v1 DeleteDependents",
		"deployments.apps v1 DeleteDependents",
		"events v1 Unsupported",
		"events.events.k8s.io v1 Unsupported",
		"jobs.batch v1 OrphanDependents warned of",
		"pods v1 gracefully",
		"priorityclasses.scheduling.k8s.io v1 but some",
		"replicasets.apps v1 DeleteDependents",
		"replicationcontrollers v1 OrphanDependents",
		"statefulsets.apps v1 DeleteDependents",
	}, own); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDeletesAnswerTheObjectWhereUpstreamDoes compares answersDeleted with ReturnDeletedObject in upstream's storages.
func TestDeletesAnswerTheObjectWhereUpstreamDoes(t *testing.T) {
	name := regexp.MustCompile(`DefaultQualifiedResource: +\w+\.Resource\("(\w+)"\)`)
	answers := regexp.MustCompile(`ReturnDeletedObject\b`)
	files, err := filepath.Glob(filepath.Join(upstreamFolder(t), "pkg", "registry", "*", "*", "storage", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := name.FindSubmatch(text); m != nil && !strings.HasSuffix(file, "_test.go") {
			want[string(m[1])] = want[string(m[1])] || answers.Match(text)
		}
	}
	if len(want) < 50 {
		t.Fatalf("only %d storages have been read", len(want))
	}
	for _, g := range groups {
		for _, k := range g.kinds { // also those whose feature gate is off
			got := k.answersDeleted || len(k.answersDeletedIn) > 0
			if answer, ok := want[k.plural]; ok && got != answer {
				t.Errorf("%s.%s: answersDeleted is %v, and ReturnDeletedObject of upstream's storage %v", k.plural, g.name, got, answer)
			}
		}
	}
}

// Kinds whose gate is off by default are served by those who set it.
func TestTheGateOfAKindCanBeSet(t *testing.T) {
	for _, g := range groups {
		for _, k := range g.kinds {
			if k.gate == "" {
				continue
			}
			other := map[string]bool{string(k.gate): !utilfeature.DefaultFeatureGate.Enabled(k.gate)}
			if _, err := release.Change(other); err != nil && !strings.Contains(err.Error(), "is locked to") {
				t.Errorf("%s.%s: %v: remove the gate from unsupported in internal/release/gates.go", k.plural, g.name, err)
			}
		}
	}
}
