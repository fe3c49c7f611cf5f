package controller

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/builtin"
	fakeresource "github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// quotaServer has one quota, of ConfigMaps, and counts them.
type quotaServer struct {
	Records
	revision   int64
	configMaps int64
	quota      store.Record // its value is what it says is used
	exact      []int64

	// between, one for each time that the quota is measured, are what another client does after
	// the quota was read, and before or after the objects were counted.
	between []between
}

type between struct{ read, counted func(*quotaServer) }

var kinds = fakeresource.NewRegistry(0, builtin.Resources(builtin.Options{}, nil), nil)

// server returns the server as the controller sees it.
func (s *quotaServer) server() *Server {
	return &Server{Cluster: quotaCluster{server: s}, Records: s, Quotas: s}
}

func (s *quotaServer) Revision() int64          { return s.revision }
func (s *quotaServer) MarkExact(q store.Record) { s.exact = append(s.exact, q.Revision) }

func (s *quotaServer) IsExact(q store.Record) bool              { return slices.Contains(s.exact, q.Revision) }
func (s *quotaServer) Forget(string)                            {}
func (s *quotaServer) Later(write.Commit) ([]string, time.Time) { return nil, time.Time{} }
func (s *quotaServer) Affected(write.Commit) ([]string, error)  { return nil, nil }

func (s *quotaServer) Get(string) (store.Record, error) { return s.quota, nil }

func (s *quotaServer) object() *corev1.ResourceQuota {
	q := &corev1.ResourceQuota{}
	q.Namespace, q.Name, q.ResourceVersion = "default", "q", strconv.FormatInt(s.quota.Revision, 10)
	q.Status.Used = corev1.ResourceList{"configmaps": resource.MustParse(s.quota.Value)}
	return q
}

func (s *quotaServer) Measure(q *corev1.ResourceQuota) (changed bool, again time.Time, err error) {
	var now between
	if len(s.between) > 0 {
		now, s.between = s.between[0], s.between[1:]
	}
	if now.read != nil {
		now.read(s)
	}
	former, present := q.Status.Used["configmaps"], *resource.NewQuantity(s.configMaps, resource.DecimalSI)
	if now.counted != nil {
		now.counted(s)
	}
	q.Status.Used = corev1.ResourceList{"configmaps": present}
	return !former.Equal(present), again, nil
}

func (s *quotaServer) WriteAs(_ context.Context, _ Identity, _ string, w write.Request) (write.Result, error) {
	if w.Revision != s.quota.Revision {
		return write.Result{}, write.ErrObsolete
	}
	obj, err := w.Change.(write.Replace).Object.(write.Made)(w.Version)
	if err != nil {
		return write.Result{}, err
	}
	q, err := w.Version.External(obj.Object)
	if err != nil {
		return write.Result{}, err
	}
	used := q.(*corev1.ResourceQuota).Status.Used["configmaps"]
	s.write(used.String())
	return write.Result{}, nil
}

// quotaCluster reads the quota of a quotaServer.
type quotaCluster struct {
	clock
	server *quotaServer
}

func (c quotaCluster) Registry() *fakeresource.Registry { return kinds }

func (c quotaCluster) Get(*fakeresource.Version, string, string) (runtime.Object, error) {
	return c.server.object(), nil
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

// uncharged is a create that was evaluated when the quota had no limit yet.
func (s *quotaServer) uncharged() {
	s.configMaps++
	s.revision++
}

const quotaStored = "/registry/resourcequotas/default/q"

func TestAQuotaIsMeasuredAgainIfAnotherClientWritesMeanwhile(t *testing.T) {
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
			s := &quotaServer{configMaps: 3, revision: 10, between: c.between, quota: store.Record{Key: quotaStored, Value: c.says, Revision: 9}}
			cs := New(s.server(), Acting{ResourceQuotas: true})
			defer cs.Close()
			cs.Sync(t.Context(), s, ResourceQuotas, "default", "q")
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
		return store.Record{Key: quotaStored, Revision: revision, Value: value}
	}
	const spec = `"spec":{"hard":{"configmaps":"1"}}`
	quota, namespace := key{namespace: "default", name: "q"}, key{name: "default"}
	for _, c := range []struct {
		rule    string
		change  write.Commit
		syncing Name
		key     key
		later   bool
	}{
		{"a write that leaves the quota exact", write.Commit{Record: record(7, `{`+spec+`}`)}, "", key{}, false},
		{"a write of the controller", write.Commit{Record: record(8, `{`+spec+`}`)}, ResourceQuotas, quota, false},
		{"a write of another client", write.Commit{Record: record(8, `{`+spec+`}`)}, "", key{}, true},
		{"a write of another controller", write.Commit{Record: record(8, `{`+spec+`}`)}, Namespaces, namespace, true},
		{"a new spec, which is measured at once", write.Commit{Record: record(8, `{"spec":{}}`)}, "", key{}, false},
		{"a delete", write.Commit{Record: record(8, `{`+spec+`}`), Deleted: true}, "", key{}, false},
	} {
		c.change.Resource, c.change.Previous, c.change.Charged = kinds.Resource("", "resourcequotas"), record(6, `{`+spec+`}`), true
		c.change.Namespace, c.change.Name = "default", "q"
		cs := New((&quotaServer{exact: []int64{7}}).server(), Acting{ResourceQuotas: true, Namespaces: true})
		q := &queue{}
		if c.syncing != "" {
			q.syncing = item{cs.byName[c.syncing], c.key}
		}
		cs.enqueue(t.Context(), q, c.change)
		if later := len(cs.alarms.keys(cs.byName[ResourceQuotas])) > 0; later != c.later {
			t.Errorf("%s: measured later: %v, want %v", c.rule, later, c.later)
		}
		cs.Close()
	}
}
