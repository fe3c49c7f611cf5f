package fakecluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/workqueue"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
)

// The tests of this file show virtual time: in a bubble of testing/synctest, minutes and hours pass at
// once, and what happens when is exact.

// diary notes what happens, with the virtual time since its start.
type diary struct {
	began time.Time
	mu    sync.Mutex
	lines []string
}

func newDiary() *diary { return &diary{began: time.Now()} }

func (d *diary) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprint(time.Since(d.began), " ", what))
}

// read returns what has been noted.
func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

func (d *diary) expect(t *testing.T, lines ...string) {
	t.Helper()
	if diff := cmp.Diff(lines, d.read()); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
}

// A leader that goes away without a word is followed when its lease has expired. One that gives its
// lease back is followed at the next try of another candidate.
func TestVirtualTimeLeaderElection(t *testing.T) {
	for name, release := range map[string]bool{"the lease expires": false, "the lease is handed over": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := fakecluster.Start(t, fakecluster.InProcess())
				client := kubernetes.NewForConfigOrDie(c.RESTConfig())
				d := newDiary()
				lead := func(ctx context.Context, id string) (done chan struct{}) {
					done = make(chan struct{})
					go func() {
						defer close(done)
						leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
							Lock: &resourcelock.LeaseLock{
								LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "operator"},
								Client:    client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: id},
							},
							LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, ReleaseOnCancel: release,
							Callbacks: leaderelection.LeaderCallbacks{
								OnStartedLeading: func(context.Context) { d.note(id + " leads") },
								OnStoppedLeading: func() {},
							},
						})
					}()
					return done
				}
				first, stopFirst := context.WithCancel(t.Context())
				one := lead(first, "one")
				synctest.Wait()
				second, stopSecond := context.WithCancel(t.Context())
				two := lead(second, "two")
				time.Sleep(time.Minute)
				stopFirst()
				<-one
				d.note("one has stopped")
				time.Sleep(time.Minute)
				stopSecond()
				<-two
				lines := d.read()
				if len(lines) != 3 || lines[0] != "0s one leads" || lines[1] != "1m0s one has stopped" {
					t.Fatalf("%q", lines)
				}
				// client-go pauses for 2 to 4.4 s, at random. The first one may have renewed its lease up to
				// a pause before it stopped; the second one sees that up to a pause later, waits for 15 s
				// from then on, and tries up to a pause later.
				after := parseTime(t, lines[2], " two leads") - time.Minute
				if release && after > 4400*time.Millisecond || !release && (after < 10600*time.Millisecond || after > 23800*time.Millisecond) {
					t.Errorf("the second one leads %v later", after)
				}
			})
		})
	}
}

// parseTime returns when something happened, by its line in a diary.
func parseTime(t *testing.T, line, what string) time.Duration {
	t.Helper()
	when, ok := strings.CutSuffix(line, what)
	if !ok {
		t.Fatalf("%q does not end with %q", line, what)
	}
	d, err := time.ParseDuration(when)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A requeue of an hour takes no time.
func TestVirtualTimeRequeue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := workqueue.NewTypedDelayingQueue[string]()
		d := newDiary()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				name, over := queue.Get()
				if over {
					return
				}
				d.note("reconcile " + name)
				queue.Done(name)
				queue.AddAfter(name, time.Hour)
			}
		}()
		queue.Add("home")
		time.Sleep(3*time.Hour + time.Minute)
		queue.ShutDown()
		<-done
		d.expect(t, "0s reconcile home", "1h0m0s reconcile home", "2h0m0s reconcile home", "3h0m0s reconcile home")
	})
}

// A lease that nobody renews has expired after its duration, for any client that reads it.
func TestVirtualTimeLeaseExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		leases := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoordinationV1().Leases("default")
		seconds, now, holder := int32(40), metav1.NowMicro(), "node"
		_, err := leases.Create(t.Context(), &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: "node"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		d := newDiary()
		for range 5 {
			lease, err := leases.Get(t.Context(), "node", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			until := lease.Spec.RenewTime.Add(time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second)
			d.note(fmt.Sprint("expired: ", !time.Now().Before(until)))
			time.Sleep(10 * time.Second)
		}
		d.expect(t, "0s expired: false", "10s expired: false", "20s expired: false", "30s expired: false", "40s expired: true")
	})
}

// A reconciler that fails is called again after 5 ms, 10 ms, and so on, up to a thousand seconds.
func TestVirtualTimeBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		nodes := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Nodes()
		c.Inject(faults.Fault{Verb: "list", Resource: "nodes", Times: 20, Effect: faults.Unavailable()})
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 1000*time.Second))
		d := newDiary()
		queue.Add("a")
		for err := errors.New("not yet"); err != nil; {
			name, _ := queue.Get()
			_, err = nodes.List(t.Context(), metav1.ListOptions{})
			d.note(fmt.Sprint("error: ", err != nil))
			queue.AddRateLimited(name)
			queue.Done(name)
		}
		queue.ShutDown()
		d.lines = slices.Delete(d.read(), 5, 19)
		d.expect(t, "0s error: true", "5ms error: true", "15ms error: true", "35ms error: true", "75ms error: true",
			"38m30.715s error: true", "55m10.715s error: false")
	})
}
