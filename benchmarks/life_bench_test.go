package benchmarks

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// BenchmarkLife measures each operation on each kind, over HTTP and in process. The
// cluster and its floor take turns. ns/op is the median of the cluster's turns and
// floor-ns/op that of the floor's; x-floor is the median of their ratios, each of two
// turns that follow each other, so that what the machine does meanwhile happens to
// both. x-floor-p25 is the ratio of the first quartiles: on a busy machine, which
// interrupts long turns more often than short ones, it is closer to that of a quiet one.
// cluster-allocs/op and cluster-B/op are what the cluster allocates and the floor
// does not.
func BenchmarkLife(b *testing.B) {
	for _, name := range lives {
		b.Run(name, func(b *testing.B) {
			k := loadKind(b, name)
			for _, op := range operations {
				b.Run(op.name+"/http", func(b *testing.B) { measure(b, newStand(b, k, op, false), op) })
				b.Run(op.name+"/in-process", func(b *testing.B) { measure(b, newStand(b, k, op, true), op) })
			}
		})
	}
}

// stand is a cluster with objects of one kind and, beside it, its floor.
type stand struct {
	kind           kind
	objects        int // that stood when the operations began
	cluster, floor side
	current        *unstructured.Unstructured // the last that was made or changed
	n              int                        // see count
	turns          int
}

// count returns another number each time. All have seven digits.
func (s *stand) count() int {
	s.n++
	return s.n
}

// newStand starts a cluster for an operation, and a floor that answers as it does.
func newStand(t testing.TB, k kind, op operation, inProcess bool) *stand {
	t.Helper()
	var options []fakecluster.Option
	if inProcess {
		options = append(options, fakecluster.InProcess())
	}
	c := fakecluster.Start(t, options...)
	if k.definition != nil {
		_, err := c.Dynamic().Resource(definitions).Create(t.Context(), k.definition, metav1.CreateOptions{})
		check(t, err)
	}
	in := func(d dynamic.Interface) side {
		return side{ResourceInterface: d.Resource(k.Resource).Namespace("default")}
	}
	s := &stand{kind: k, objects: op.objects, cluster: in(c.Dynamic()), n: 1_000_000}
	for range op.objects {
		var err error
		s.current, err = s.grow(t.Context(), nameOf(s.count()))
		check(t, err)
	}

	f := &floor{answers: map[string]answer{}}
	s.floor = in(f.client(t, inProcess))
	config := c.RESTConfig()
	config.Wrap(f.record)
	recording, err := dynamic.NewForConfig(config)
	check(t, err)
	recorded := in(recording)
	stop := func() {}
	if op.watches {
		recorded.events, stop = s.watch(t, recorded)
	}
	next, err := op.next(t.Context(), s)
	check(t, err)
	check(t, s.take(t.Context(), op, next, recorded))
	stop() // otherwise the cluster would have one watcher more than the floor
	if op.watches {
		s.cluster.events, _ = s.watch(t, s.cluster)
		s.floor.events, _ = s.watch(t, s.floor)
	}
	return s
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// grow makes an object as it stands in a cluster: created by its user, with the status
// of its controller and the part that a third manager has applied.
func (s *stand) grow(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	u, err := s.cluster.Create(ctx, s.kind.object(name), metav1.CreateOptions{FieldManager: user})
	if err != nil || s.kind.Plain {
		return u, err
	}
	u.Object["status"] = fill(s.kind.Status, name, 0)
	if _, err := s.cluster.UpdateStatus(ctx, u, metav1.UpdateOptions{FieldManager: controller}); err != nil {
		return nil, err
	}
	return s.cluster.Apply(ctx, name, s.kind.applied(name, s.n), metav1.ApplyOptions{FieldManager: platform, Force: true})
}

// watch begins at the present state. It ends with the test, or when stop is called.
func (s *stand) watch(t testing.TB, in side) (events <-chan watch.Event, stop func()) {
	t.Helper()
	w, err := in.Watch(t.Context(), metav1.ListOptions{ResourceVersion: s.current.GetResourceVersion()})
	check(t, err)
	t.Cleanup(w.Stop)
	return w.ResultChan(), w.Stop
}

// take does one step at one side.
func (s *stand) take(ctx context.Context, op operation, next step, in side) error {
	u, err := next(ctx, in)
	if err == nil && op.changes && in.ResourceInterface != s.floor.ResourceInterface {
		s.current = u
	}
	return err
}

// turn does the next step at both sides, each inside of measured. They take turns in
// going first.
func (s *stand) turn(b *testing.B, op operation, measured func(side int, take func())) {
	next, err := op.next(b.Context(), s)
	check(b, err)
	s.turns++
	sides := [...]side{atCluster: s.cluster, atFloor: s.floor}
	for _, side := range [][]int{{atCluster, atFloor}, {atFloor, atCluster}}[s.turns%2] {
		measured(side, func() { err = s.take(b.Context(), op, next, sides[side]) })
		check(b, err)
	}
}

const (
	atCluster = iota
	atFloor
	bothSides
)

// allocating is in how many turns allocations are counted.
const allocating = 5

func measure(b *testing.B, s *stand, op operation) {
	var took [bothSides][]time.Duration
	runtime.GC() // what the preparation has left
	for b.Loop() {
		s.turn(b, op, func(side int, take func()) {
			start := time.Now()
			take()
			took[side] = append(took[side], time.Since(start))
		})
	}
	ratios := make([]float64, len(took[atCluster]))
	for i := range ratios {
		ratios[i] = float64(took[atCluster][i]) / float64(took[atFloor][i])
	}
	for _, durations := range [][]time.Duration{took[atCluster], took[atFloor]} {
		slices.Sort(durations)
	}
	slices.Sort(ratios)
	half, quarter := len(ratios)/2, len(ratios)/4
	b.ReportMetric(float64(took[atCluster][half]), "ns/op")
	b.ReportMetric(float64(took[atFloor][half]), "floor-ns/op")
	b.ReportMetric(ratios[half], "x-floor")
	b.ReportMetric(float64(took[atCluster][quarter])/float64(took[atFloor][quarter]), "x-floor-p25")

	var allocs, bytes [bothSides]uint64
	for range allocating {
		s.turn(b, op, func(side int, take func()) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			take()
			runtime.ReadMemStats(&after)
			allocs[side] += after.Mallocs - before.Mallocs
			bytes[side] += after.TotalAlloc - before.TotalAlloc
		})
	}
	b.ReportMetric((float64(allocs[atCluster])-float64(allocs[atFloor]))/allocating, "cluster-allocs/op")
	b.ReportMetric((float64(bytes[atCluster])-float64(bytes[atFloor]))/allocating, "cluster-B/op")
}
