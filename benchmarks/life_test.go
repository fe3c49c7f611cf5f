package benchmarks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// eachLife runs a test for each kind that is measured.
func eachLife(t *testing.T, test func(*testing.T, kind)) {
	for _, name := range lives {
		t.Run(name, func(t *testing.T) { test(t, loadKind(t, name)) })
	}
}

func operationOf(t *testing.T, name string) operation {
	t.Helper()
	i := slices.IndexFunc(operations, func(op operation) bool { return op.name == name })
	if i < 0 {
		t.Fatalf("no operation is called %s", name)
	}
	return operations[i]
}

// What is written has fields of the real definitions alone: each request is accepted
// with strict field validation.
func TestLifeKnowsEveryFieldItWrites(t *testing.T) {
	eachLife(t, func(t *testing.T, k kind) {
		s := newStand(t, k, operationOf(t, "get"), true)
		const strict = metav1.FieldValidationStrict
		name := "strict"
		u, err := s.cluster.Create(t.Context(), k.object(name), metav1.CreateOptions{FieldValidation: strict})
		check(t, err)
		if k.Status != nil {
			u.Object["status"] = fill(k.Status, name, 0)
			u, err = s.cluster.UpdateStatus(t.Context(), u, metav1.UpdateOptions{FieldValidation: strict})
			check(t, err)
		}
		_, err = s.cluster.UpdateStatus(t.Context(), k.withNextStatus(u, s.count()), metav1.UpdateOptions{FieldValidation: strict})
		check(t, err)
		patch := func(kind types.PatchType, content any, options metav1.PatchOptions) {
			t.Helper()
			text, err := json.Marshal(content)
			check(t, err)
			options.FieldValidation = strict
			_, err = s.cluster.Patch(t.Context(), name, kind, text, options)
			check(t, err)
		}
		force := true
		patch(types.ApplyPatchType, k.applied(name, s.count()), metav1.PatchOptions{FieldManager: platform, Force: &force})
		patch(types.MergePatchType, fill(k.Patch, name, s.count()), metav1.PatchOptions{})
	})
}

// An object has the owners of its fields that an operator's have: a user, a controller
// that owns the status alone, and a third manager with the part that it applied.
func TestLifeHasItsManagers(t *testing.T) {
	eachLife(t, func(t *testing.T, k kind) {
		s := newStand(t, k, operationOf(t, "get"), true)
		want := map[string][]string{
			"user Update":              {"metadata", "spec"},
			"controller Update status": {"status"},
			"platform Apply":           {"metadata", "spec"},
		}
		if k.Plain {
			want = map[string][]string{"user Update": {"metadata", "spec"}}
		} else if len(s.current.GetFinalizers()) != 1 || len(s.current.GetOwnerReferences()) != 1 {
			t.Errorf("it has the finalizers %v and the owners %v", s.current.GetFinalizers(), s.current.GetOwnerReferences())
		}
		if diff := cmp.Diff(want, owners(t, s.current)); diff != "" {
			t.Errorf("managers, and the parts in which they own fields (-want +got)\n%s", diff)
		}
	})
}

// owners are the top-level fields in which each manager owns something.
func owners(t *testing.T, u *unstructured.Unstructured) map[string][]string {
	t.Helper()
	verbs := map[string][]string{}
	for _, m := range u.GetManagedFields() {
		var fields map[string]any
		check(t, json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields))
		name := strings.TrimSpace(fmt.Sprintf("%s %s %s", m.Manager, m.Operation, m.Subresource))
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			verbs[name] = append(verbs[name], strings.TrimPrefix(field, "f:"))
		}
	}
	return verbs
}

// Each operation does what it is called after, and its floor answers as the cluster did
// when the answers were recorded.
func TestLifeOperationsDoWhatIsMeasured(t *testing.T) {
	eachLife(t, func(t *testing.T, k kind) {
		for _, op := range operations {
			t.Run(op.name, func(t *testing.T) {
				op.objects = min(op.objects, 20)
				s := newStand(t, k, op, true)
				before := s.current
				next, err := op.next(t.Context(), s)
				check(t, err)
				least, err := next(t.Context(), s.floor)
				if err != nil {
					t.Fatalf("at the floor: %v", err)
				}
				if op.changes {
					if diff := cmp.Diff(before.Object, least.Object); diff != "" {
						t.Errorf("the floor's answer is not the cluster's last (-want +got)\n%s", diff)
					}
				}
				answered, err := next(t.Context(), s.cluster)
				check(t, err)
				if answered != nil && size(t, answered) != size(t, least) {
					t.Errorf("the cluster's answer has %d bytes, and the floor's %d", size(t, answered), size(t, least))
				}
				does[op.name](t, s, before, answered)
			})
		}
	})
}

// size is how many bytes an object has, except for numbers that grow.
func size(t *testing.T, u *unstructured.Unstructured) int {
	t.Helper()
	u = u.DeepCopy()
	u.SetResourceVersion("")
	u.SetGeneration(0)
	text, err := u.MarshalJSON()
	check(t, err)
	return len(text)
}

// does checks, for each operation, the answer that the cluster gave to it, and what is
// stored then. Before is the object that stood.
var does = map[string]func(t *testing.T, s *stand, before, answered *unstructured.Unstructured){
	"get": func(t *testing.T, _ *stand, before, answered *unstructured.Unstructured) {
		differ(t, before, answered)
	},
	"create": func(t *testing.T, s *stand, _, answered *unstructured.Unstructured) {
		stored(t, s, answered)
		status, _ := answered.Object["status"].(map[string]any) // of a built-in kind there is one
		if status["conditions"] != nil || answered.GetGeneration() != 1 {
			t.Errorf("it has conditions or another generation than 1: %v", answered.Object)
		}
	},
	"update": func(t *testing.T, s *stand, before, answered *unstructured.Unstructured) {
		stored(t, s, answered)
		differ(t, before, answered, "metadata")
		want := before.GetGeneration()
		if s.kind.CountsAnnotations {
			want++
		}
		if answered.GetGeneration() != want {
			t.Errorf("generation %d after %d", answered.GetGeneration(), before.GetGeneration())
		}
		if former := before.GetAnnotations()[checked]; former == "" || answered.GetAnnotations()[checked] == former {
			t.Errorf("%s is %q after %q", checked, answered.GetAnnotations()[checked], former)
		}
	},
	"update-status":      changesStatus,
	"merge-patch-status": changesStatus,
	"merge-patch":        changesSpec,
	"apply": func(t *testing.T, s *stand, before, answered *unstructured.Unstructured) {
		changesSpec(t, s, before, answered)
		if got := owners(t, answered)["platform Apply"]; !slices.Equal(got, []string{"metadata", "spec"}) {
			t.Errorf("who applied owns fields in %v", got)
		}
	},
	"delete-with-finalizer": func(t *testing.T, s *stand, _, answered *unstructured.Unstructured) {
		if answered.GetDeletionTimestamp() == nil || len(answered.GetFinalizers()) != 0 {
			t.Errorf("it ended with the deletion timestamp %v and the finalizers %v", answered.GetDeletionTimestamp(), answered.GetFinalizers())
		}
		if _, err := s.cluster.Get(t.Context(), answered.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("a get afterwards: %v", err)
		}
	},
	"list": func(t *testing.T, s *stand, before, _ *unstructured.Unstructured) {
		l, err := s.cluster.List(t.Context(), metav1.ListOptions{})
		check(t, err)
		if len(l.Items) != s.objects {
			t.Fatalf("it has %d objects", len(l.Items))
		}
		differ(t, before, &l.Items[s.objects-1])
	},
	"watch": changesSpec, // that a watcher has it is checked by the step
}

func changesStatus(t *testing.T, s *stand, before, answered *unstructured.Unstructured) {
	t.Helper()
	stored(t, s, answered)
	differ(t, before, answered, "metadata", "status")
	if cmp.Equal(before.Object["status"], answered.Object["status"]) || answered.GetGeneration() != before.GetGeneration() {
		t.Errorf("the status is the same, or the generation is not: %v", answered.Object)
	}
}

func changesSpec(t *testing.T, s *stand, before, answered *unstructured.Unstructured) {
	t.Helper()
	stored(t, s, answered)
	differ(t, before, answered, "metadata", "spec")
	if cmp.Equal(before.Object["spec"], answered.Object["spec"]) || answered.GetGeneration() != before.GetGeneration()+1 {
		t.Errorf("the spec is the same, or the generation is not the next: %v", answered.Object)
	}
}

// stored fails the test if the cluster has another object than it answered with.
func stored(t *testing.T, s *stand, answered *unstructured.Unstructured) {
	t.Helper()
	u, err := s.cluster.Get(t.Context(), answered.GetName(), metav1.GetOptions{})
	check(t, err)
	differ(t, answered, u)
}

// differ fails the test if objects differ elsewhere than in these top-level fields.
func differ(t *testing.T, x, y *unstructured.Unstructured, in ...string) {
	t.Helper()
	x, y = x.DeepCopy(), y.DeepCopy()
	for _, field := range in {
		delete(x.Object, field)
		delete(y.Object, field)
	}
	if diff := cmp.Diff(x.Object, y.Object); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
