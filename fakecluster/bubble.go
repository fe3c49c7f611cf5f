package fakecluster

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/fakecluster/fakecluster/internal/bubble"
)

// The mistakes of a test in a testing/synctest bubble, each with what to write instead.
var (
	errSocketInBubble = errors.New("a cluster in a synctest bubble must be in process, because time stands still while a goroutine waits for a socket: " +
		"write fakecluster.Start(t, fakecluster.InProcess())")
	errForkInBubble = errors.New("the cluster has a socket, so its fork cannot run in a synctest bubble: " +
		"write base := fakecluster.Start(t, fakecluster.InProcess()) outside of the bubble, and base.Fork(t) inside")
	errUsedInBubble = errors.New("the cluster was started outside of the synctest bubble that uses it: " +
		"write c := base.Fork(t) in the bubble, where base is a cluster with InProcess(), and use the clients of c")
	errUsedOutside = errors.New("the cluster was started in a synctest bubble and is used outside of it: " +
		"use the cluster in the function of synctest.Test, or start it with InProcess() outside and write c := base.Fork(t) in the bubble")
	errKubeconfigInBubble = errors.New("a cluster in a synctest bubble has no socket for other processes: call Kubeconfig for a cluster that was started outside of bubbles")
)

// home is the place of a cluster: a bubble, or outside of bubbles. A request from the other side would hang
// the test, or end the process with "close of synctest channel from outside bubble".
type home struct {
	inBubble bool
	mistake  sync.Once
	stop     func() // ends the check of the bubble
	events   eventNames
}

// checkPlace returns an error for a caller from the other side. The first one also fails the test of the cluster, because
// controllers only log the errors of their requests.
func (c *Cluster) checkPlace() error {
	inside := bubble.Inside()
	if inside == c.home.inBubble {
		return nil
	}
	err := errUsedOutside
	if inside {
		err = errUsedInBubble
	}
	c.home.mistake.Do(func() {
		if c.test != nil {
			// Not c.TB: what the cluster keeps belongs to the other side, too.
			c.test.Errorf("fakecluster: %v", err)
		}
	})
	return err
}

// atHome returns a transport that refuses requests from the other side, and keeps the names of Events in a bubble apart.
func (c *Cluster) atHome(next http.RoundTripper) http.RoundTripper { return &homeTransport{c, next} }

type homeTransport struct {
	of   *Cluster
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *homeTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.of.checkPlace(); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, fmt.Errorf("fakecluster: %w", err)
	}
	if t.of.home.inBubble {
		renamed, err := t.of.home.events.rename(req)
		if err != nil {
			return nil, fmt.Errorf("fakecluster: %w", err)
		}
		req = renamed
	}
	return t.next.RoundTrip(req)
}

// WrappedRoundTripper implements RoundTripperWrapper of k8s.io/apimachinery.
func (t *homeTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// CloseIdleConnections is called by http.Client and client-go.
func (t *homeTransport) CloseIdleConnections() {
	if idle, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
}

// watchBubble has the bubble of the cluster checked from outside until Close. If its time stands still, nothing in the bubble
// can report that, so the process ends.
func (c *Cluster) watchBubble() {
	c.home.stop = bubble.Watch(c.store.Revision, func(b bubble.Blocked) {
		name := "fakecluster"
		if c.test != nil {
			name = c.test.Name()
		}
		panic(fmt.Sprintf("%s: %s. The goroutine that waits:\n\n%s\n", name, b.Mistake(), b.Stack))
	})
}
