package cri

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/fakecluster/fakecluster/conformance/kubelet/program"
)

// Outside runs a function on a goroutine outside of the bubble that the kubelet is in. A goroutine that waits for a socket would stop the time of the
// bubble; one that makes a short request does not.
type Outside func(func())

// address returns an address for a pod. It is one of this machine's own, because a kubelet probes pods through sockets; each process has others.
func (r *Runtime) address() string {
	return fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()%250, r.next/250%250, r.next%250+1)
}

// port is a port that a container serves.
type port struct {
	timers []*time.Timer

	mu       sync.Mutex
	healthy  map[string]bool // by the name of a probe: outside of the bubble it is another time
	closed   bool
	listener net.Listener // nil: the container does not listen yet
}

// open has a container that starts now serve a port.
func (r *Runtime) open(ip string, number int, start program.Start) *port {
	p := &port{healthy: map[string]bool{}}
	after := func(delay time.Duration, f func()) {
		if delay == 0 { // also for a hook that runs at once
			f()
			return
		}
		p.timers = append(p.timers, time.AfterFunc(delay, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			f()
		}))
	}
	for name, changes := range start.Changes {
		for i, delay := range changes {
			after(delay, func() { p.healthy[name] = i%2 == 0 })
		}
	}
	after(start.Listens, func() {
		if p.closed {
			return
		}
		var err error
		if p.listener, err = net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(number))); err != nil {
			panic(err) // no other process has the addresses of this one
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			start.Serve(w, req.URL.Path, func(probe string) bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return p.healthy[probe]
			})
		})}
		server.SetKeepAlivesEnabled(false)
		listener := p.listener
		r.outside(func() { _ = server.Serve(listener) }) // it ends with the container
	})
	return p
}

// close ends the port with its container.
func (p *port) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.timers {
		t.Stop()
	}
	p.closed = true
	if p.listener != nil {
		_ = p.listener.Close()
	}
}
