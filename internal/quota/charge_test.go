package quota

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// servingCluster serves the built-in kinds.
type servingCluster struct {
	emptyCluster
	registry *resource.Registry
}

func (c servingCluster) Registry() *resource.Registry { return c.registry }

// List returns no DeviceClasses, which is all that evaluators list by it.
func (c servingCluster) List(*resource.Version, string, labels.Selector) ([]runtime.Object, error) {
	return nil, nil
}

// newQuotas returns the quotas of a cluster without objects.
func newQuotas(t *testing.T) *Quotas {
	t.Helper()
	s, err := store.Open(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	registry := resource.NewRegistry(1, builtin.Resources(builtin.Options{}, nil), nil)
	return New(Options{Cluster: servingCluster{registry: registry}, Store: s, Memory: resource.NewMemory(false), Resource: registry.Resource("", "resourcequotas")})
}

// record returns the record of an object as it is stored.
func record(t *testing.T, key string, revision int64, object any) store.Record {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return store.Record{Key: key, Revision: revision, Value: string(text)}
}

// create stores an object of the namespace default.
func create(t *testing.T, q *Quotas, plural, name string, object any) store.Record {
	t.Helper()
	text := record(t, "", 0, object).Value
	created, err := q.Store.Create(q.Cluster.Registry().Resource("", plural).Key("default", name), store.Write{Make: func(int64) string { return text }})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// createQuota stores a quota.
func createQuota(t *testing.T, q *Quotas, name, hard, used string) store.Record {
	t.Helper()
	rq := quotaOf(name, hard, used)
	rq.APIVersion, rq.Kind = "v1", "ResourceQuota"
	return create(t, q, "resourcequotas", name, &rq)
}

// stored returns a Pod as it is stored.
func stored(p *corev1.Pod) *corev1.Pod {
	p.APIVersion, p.Kind = "v1", "Pod"
	return p
}

// staging prepares updates that commit nothing, and calls stage for each.
type staging struct {
	releases bool
	stage    func(release bool, rq *corev1.ResourceQuota)
}

func (s staging) ReleasesQuotas() bool { return s.releases }

func (s staging) StageQuota(_ context.Context, release bool, _ write.Request, rq *corev1.ResourceQuota) (*store.Update, error) {
	s.stage(release, rq)
	return &store.Update{Make: func(int64) string { return "" }}, nil
}

// A delete gives back what the object used, within the same commit if the status of the quota is known to be right.
func TestAWriteThatUsesLess(t *testing.T) {
	for _, test := range []struct {
		rule              string
		plural            string // of the deleted object
		exact, releases   bool
		self              bool // the object is the quota
		after, unmeasured int
	}{
		{"an exact quota is released", "configmaps", true, true, false, 1, 0},
		{"another one is measured", "configmaps", false, true, false, 0, 1},
		{"without the controller none is", "configmaps", true, false, false, 0, 0},
		{"a quota of another kind stays", "secrets", false, true, false, 0, 0},
		{"a quota counts other quotas", "resourcequotas", false, true, false, 0, 1},
		{"and not itself once it is deleted", "resourcequotas", false, true, true, 0, 0},
	} {
		t.Run(test.rule, func(t *testing.T) {
			q := newQuotas(t)
			limited := createQuota(t, q, "a", "configmaps=5 resourcequotas=5", "configmaps=2 resourcequotas=2")
			if test.exact {
				q.MarkExact(limited)
			}
			res := q.Cluster.Registry().Resource("", test.plural)
			use := write.Use{Resource: res, Namespace: "default", Old: store.Record{Key: res.Key("default", "b"), Revision: limited.Revision}}
			if test.self {
				use.Old = limited
			}
			by := staging{releases: test.releases, stage: func(release bool, rq *corev1.ResourceQuota) {
				if used := rq.Status.Used[corev1.ResourceConfigMaps]; !release || used.Value() != 1 {
					t.Errorf("release %t, used %v", release, texts(rq.Status.Used))
				}
			}}
			c, err := q.Charge(t.Context(), by, use)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Before) != 0 || len(c.After) != test.after || len(c.Unmeasured) != test.unmeasured {
				t.Errorf("%d updates before, %d after, %q unmeasured; want 0, %d, %d", len(c.Before), len(c.After), c.Unmeasured, test.after, test.unmeasured)
			}
		})
	}
}

// A write fails if a quota that counts its object has appeared meanwhile.
func TestAChargeNeedsTheQuotasThatItHasSeen(t *testing.T) {
	q := newQuotas(t)
	old := store.Record{Key: "b", Revision: 1}
	for rule, test := range map[string]struct {
		plural string
		use    write.Use
		needs  bool
	}{
		"a create":                            {"configmaps", write.Use{New: &corev1.ConfigMap{}}, true},
		"a delete":                            {"configmaps", write.Use{Old: old}, true},
		"an update of what is only counted":   {"configmaps", write.Use{Old: old, New: &corev1.ConfigMap{}}, false},
		"an update that may change its usage": {"pods", write.Use{Old: old, New: &corev1.Pod{}}, true},
	} {
		test.use.Resource, test.use.Namespace = q.Cluster.Registry().Resource("", test.plural), "default"
		c, err := q.Charge(t.Context(), staging{releases: true}, test.use)
		if err != nil {
			t.Fatal(err)
		}
		var want []store.Precondition
		if test.needs {
			want = []store.Precondition{{Key: q.Resource.PrefixOf("default"), Revision: q.Store.Revision(), Prefix: true}}
		}
		if diff := cmp.Diff(want, c.Require); diff != "" {
			t.Errorf("%s (-want +got):\n%s", rule, diff)
		}
	}
}

func TestQuotasThatACommitAffects(t *testing.T) {
	q := newQuotas(t)
	createQuota(t, q, "a", "configmaps=5", "configmaps=2")
	createQuota(t, q, "b", "pods=5", "pods=2")
	createQuota(t, q, "c", "count/widgets.example.com=5", "count/widgets.example.com=1")
	resources := q.Cluster.Registry()
	definition := &resource.Resource{Group: "apiextensions.k8s.io"}
	definition.Names.Plural = "customresourcedefinitions"
	configMap := store.Record{Key: "x", Revision: 9}
	pods := resources.Resource("", "pods")
	before, after := record(t, pods.Key("default", "a"), 8, stored(pod("100m"))), record(t, pods.Key("default", "a"), 9, stored(pod("100m", ended)))
	for _, test := range []struct {
		rule   string
		commit write.Commit
		want   string // the name of the quota; empty: none
	}{
		{"a deleted object", write.Commit{Resource: resources.Resource("", "configmaps"), Namespace: "default", Previous: configMap, Deleted: true}, "a"},
		{"one that was charged when it was created", write.Commit{Resource: resources.Resource("", "configmaps"), Namespace: "default", Record: configMap}, ""},
		{"an update of what is only counted", write.Commit{Resource: resources.Resource("", "configmaps"), Namespace: "default", Record: configMap, Previous: configMap}, ""},
		{"a Pod that has ended", write.Commit{Resource: pods, Namespace: "default", Record: after, Previous: before}, "b"},
		{"a Pod that uses as much as before", write.Commit{Resource: pods, Namespace: "default", Record: before, Previous: before}, ""},
		{"an object in another namespace", write.Commit{Resource: resources.Resource("", "configmaps"), Namespace: "other", Previous: configMap, Deleted: true}, ""},
		{"the definition of a kind that is counted", write.Commit{Resource: definition, Name: "widgets.example.com", Record: configMap}, "c"},
		{"the definition of another kind", write.Commit{Resource: definition, Name: "gadgets.example.com", Record: configMap}, ""},
	} {
		var want []string
		if test.want != "" {
			want = []string{q.Resource.Key("default", test.want)}
		}
		got, err := q.Affected(test.commit)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", test.rule, err, diff)
		}
	}
}

// A Pod that is being deleted stops counting at the end of its grace period, without a further write.
func TestQuotasThatAreMeasuredLater(t *testing.T) {
	q := newQuotas(t)
	createQuota(t, q, "a", "configmaps=5", "configmaps=2")
	createQuota(t, q, "b", "pods=5", "pods=2")
	pods := q.Cluster.Registry().Resource("", "pods")
	for _, test := range []struct {
		rule    string
		pod     *corev1.Pod
		deleted bool
		want    []string
		due     time.Time
	}{
		{"a Pod that ends later", pod("", deleted(time.Minute)), false, []string{q.Resource.Key("default", "b")}, now.Add(time.Minute)},
		{"one that lives", pod(""), false, nil, time.Time{}},
		{"one that is gone", pod("", deleted(time.Minute)), true, nil, time.Time{}},
	} {
		got, due := q.Later(write.Commit{Resource: pods, Namespace: "default", Name: "a", Record: record(t, pods.Key("default", "a"), 9, stored(test.pod)), Deleted: test.deleted})
		if diff := cmp.Diff(test.want, got); diff != "" || !due.Equal(test.due) {
			t.Errorf("%s: due %v, want %v (-want +got):\n%s", test.rule, due, test.due, diff)
		}
	}
}

// A measurement counts the stored objects, and forgets what the quota limits no longer. Without a definition there are no
// objects of its kind.
func TestAMeasurement(t *testing.T) {
	q := newQuotas(t)
	for _, name := range []string{"x", "y"} {
		create(t, q, "configmaps", name, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": name}})
	}
	rq := quotaOf("a", "configmaps=5 count/widgets.example.com=5", "configmaps=1 count/widgets.example.com=1 secrets=3")
	changed, again, err := q.Measure(&rq)
	if diff := cmp.Diff(map[string]string{"configmaps": "2", "count/widgets.example.com": "0"}, texts(rq.Status.Used)); diff != "" || !changed || !again.IsZero() || err != nil {
		t.Errorf("changed %t, again %v, %v; used (-want +got):\n%s", changed, again, err, diff)
	}
	if changed, _, err = q.Measure(&rq); changed || err != nil {
		t.Errorf("a second measurement: changed %t, %v", changed, err)
	}
}
