package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fakeresource "github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// quotaServer has one quota, of ConfigMaps, and counts them.
type quotaServer struct {
	Server
	revision   int64
	configMaps int64
	quota      store.Record // its value is what it says is used
	exact      []int64

	// between, one for each time that the quota is measured, are what somebody else does after
	// the quota was read, and before or after the objects were counted.
	between []between
}

type between struct{ read, counted func(*quotaServer) }

var quotaKind = &fakeresource.Resource{Prefix: "/quotas/"}

func (s *quotaServer) Quotas() *fakeresource.Resource { return quotaKind }
func (s *quotaServer) Revision() int64                { return s.revision }
func (s *quotaServer) Quota() Measurer                { return s }
func (s *quotaServer) MarkExact(q store.Record)       { s.exact = append(s.exact, q.Revision) }

func (s *quotaServer) Now() metav1.Time { return metav1.Now() }

func (s *quotaServer) IsExact(q store.Record) bool        { return slices.Contains(s.exact, q.Revision) }
func (s *quotaServer) Forget(string)                      {}
func (s *quotaServer) Later(Change) ([]string, time.Time) { return nil, time.Time{} }
func (s *quotaServer) Affected(Change) ([]string, error)  { return nil, nil }

func (s *quotaServer) Get(context.Context, *fakeresource.Resource, string, string) (runtime.Object, store.Record, error) {
	q := &corev1.ResourceQuota{}
	q.Status.Used = corev1.ResourceList{"configmaps": resource.MustParse(s.quota.Value)}
	return q, s.quota, nil
}

func (s *quotaServer) Measure(q *corev1.ResourceQuota) (changed bool, again time.Time, err error) {
	var now between
	if len(s.between) > 0 {
		now, s.between = s.between[0], s.between[1:]
	}
	if now.read != nil {
		now.read(s)
	}
	was, is := q.Status.Used["configmaps"], *resource.NewQuantity(s.configMaps, resource.DecimalSI)
	if now.counted != nil {
		now.counted(s)
	}
	q.Status.Used = corev1.ResourceList{"configmaps": is}
	return !was.Equal(is), again, nil
}

func (s *quotaServer) Update(_ context.Context, _ *fakeresource.Resource, _ string, was store.Record, obj runtime.Object, _ ...store.Precondition) error {
	if was.Revision != s.quota.Revision {
		return ErrConflict
	}
	used := obj.(*corev1.ResourceQuota).Status.Used["configmaps"]
	s.write(used.String())
	return nil
}

func (s *quotaServer) write(used string) {
	s.revision++
	s.quota.Value, s.quota.Revision = used, s.revision
}

// create is a create that charges the quota, and remove a delete that releases it.
func (s *quotaServer) create() { s.charged(1) }
func (s *quotaServer) remove() { s.charged(-1) }

func (s *quotaServer) charged(by int64) {
	s.configMaps += by
	used := resource.MustParse(s.quota.Value)
	used.Add(*resource.NewQuantity(by, resource.DecimalSI))
	s.write(used.String())
	s.revision++ // of the object
}

// uncharged is a create that was judged when the quota had no limit yet.
func (s *quotaServer) uncharged() {
	s.configMaps++
	s.revision++
}

func TestAQuotaIsMeasuredAgainIfSomebodyWritesMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		says    string
		between []between
		want    string
	}{
		"nobody writes":                                       {"5", nil, "3"},
		"nothing has changed":                                 {"3", nil, "3"},
		"a create after the quota was read":                   {"3", []between{{read: (*quotaServer).create}}, "4"},
		"a create after the objects were counted":             {"3", []between{{counted: (*quotaServer).create}}, "4"},
		"a delete after the quota was read":                   {"3", []between{{read: (*quotaServer).remove}}, "2"},
		"a create makes a wrong quota look right":             {"4", []between{{read: (*quotaServer).create}}, "4"},
		"a delete makes a wrong quota look right":             {"2", []between{{read: (*quotaServer).remove}}, "2"},
		"a create while the quota has no limit":               {"0", []between{{counted: (*quotaServer).uncharged}}, "4"},
		"two writes, one in each of the first two rounds":     {"3", []between{{read: (*quotaServer).create}, {read: (*quotaServer).remove}}, "3"},
		"a write in the round that follows one of its writes": {"0", []between{{counted: (*quotaServer).uncharged}, {read: (*quotaServer).create}}, "5"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &quotaServer{configMaps: 3, revision: 10, between: c.between, quota: store.Record{Key: "/quotas/default/q", Value: c.says, Revision: 9}}
			r := &Reactor{server: s, acting: Controllers{ResourceQuotaController: true}, alarms: newAlarms()}
			defer r.Close()
			list := &tasks{}
			list.add(measureQuota, s.quota.Key)
			r.work(t.Context(), list)
			if got := fmt.Sprint(s.quota.Value); got != c.want {
				t.Errorf("used %s, want %s", got, c.want)
			}
			if !slices.Equal(s.exact, []int64{s.quota.Revision}) {
				t.Errorf("exact at %v, want %d", s.exact, s.quota.Revision)
			}
		})
	}
}

// The controller measures a quota again later only if somebody else has written to it.
func TestOnlyAForeignWriteIsMeasuredLater(t *testing.T) {
	record := func(revision int64, value string) store.Record {
		return store.Record{Key: "/quotas/default/q", Revision: revision, Value: value}
	}
	const spec = `"spec":{"hard":{"configmaps":"1"}}`
	for _, c := range []struct {
		rule   string
		change Change
		doing  task
		later  bool
	}{
		{"a write that leaves the quota exact", Change{Record: record(7, `{`+spec+`}`)}, task{}, false},
		{"a write of the controller", Change{Record: record(8, `{`+spec+`}`)}, task{measureQuota, "/quotas/default/q"}, false},
		{"a write of somebody else", Change{Record: record(8, `{`+spec+`}`)}, task{}, true},
		{"a write of another controller", Change{Record: record(8, `{`+spec+`}`)}, task{finishNamespace, "default"}, true},
		{"a new spec, which is measured at once", Change{Record: record(8, `{"spec":{}}`)}, task{}, false},
		{"a delete", Change{Record: record(8, `{`+spec+`}`), Deleted: true}, task{}, false},
	} {
		c.change.Resource, c.change.Previous, c.change.Charged = quotaKind, record(6, `{`+spec+`}`), true
		r := NewReactor(&quotaServer{exact: []int64{7}}, Controllers{ResourceQuotaController: true})
		r.noteQuotas(&tasks{doing: c.doing}, c.change)
		if later := len(r.alarms.of(measureQuota)) > 0; later != c.later {
			t.Errorf("%s: measured later: %v, want %v", c.rule, later, c.later)
		}
		r.Close()
	}
}
