package controlplane

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// queueClock is the clock of the scheduler's queue. Its tickers tick only while pods wait for a node. With a real clock,
// the queue would check every second for pods whose back-off has ended.
type queueClock struct {
	clock.RealClock

	mu      sync.Mutex
	waiting map[types.UID]bool
	tickers map[*queueTicker]bool
}

// newQueueClock returns a clock that follows an informer of pods.
func newQueueClock(pods cache.SharedIndexInformer) (*queueClock, error) {
	c := &queueClock{waiting: map[types.UID]bool{}, tickers: map[*queueTicker]bool{}}
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.follow(obj.(*corev1.Pod)) },
		UpdateFunc: func(_, obj any) { c.follow(obj.(*corev1.Pod)) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if pod, ok := obj.(*corev1.Pod); ok {
				c.forget(pod)
			}
		},
	})
	return c, err
}

func (c *queueClock) follow(pod *corev1.Pod) {
	if pod.Spec.NodeName != "" {
		c.forget(pod)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[pod.UID] = true
	for t := range c.tickers {
		t.arm()
	}
}

func (c *queueClock) forget(pod *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, pod.UID)
}

// NewTicker implements clock.WithTicker. The ticks are multiples of the period after now.
func (c *queueClock) NewTicker(period time.Duration) clock.Ticker {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &queueTicker{clock: c, start: time.Now(), period: period, ticks: make(chan time.Time, 1)}
	c.tickers[t] = true
	t.arm() // a pod may have come before
	return t
}

type queueTicker struct {
	clock  *queueClock
	start  time.Time
	period time.Duration
	ticks  chan time.Time
	timer  *time.Timer // nil: no pod waits
}

// arm sets the timer for the next tick. The clock is locked.
func (t *queueTicker) arm() {
	if t.timer == nil {
		t.timer = time.AfterFunc(t.period-time.Since(t.start)%t.period, t.tick)
	}
}

func (t *queueTicker) tick() {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.timer = nil
	if !t.clock.tickers[t] {
		return
	}
	select {
	case t.ticks <- time.Now():
	default:
	}
	if len(t.clock.waiting) > 0 {
		t.arm()
	}
}

// C implements clock.Ticker.
func (t *queueTicker) C() <-chan time.Time { return t.ticks }

// Stop implements clock.Ticker.
func (t *queueTicker) Stop() {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	delete(t.clock.tickers, t)
	if t.timer != nil {
		t.timer.Stop()
	}
}
