package fakecluster

import (
	"time"

	"github.com/fakecluster/fakecluster/store"
)

// ReservePort reserves a port, as the webhook server of a test has one.
var ReservePort = reservePort

// Work returns how many requests of a cluster in a bubble have shown that something goes on, and how many of them were writes.
func Work(c *Cluster) (requests, writes int64) { return c.home.requests.Load(), c.home.writes.Load() }

// Records returns the records of all objects of a cluster; none after its Close.
func Records(c *Cluster) []store.Record {
	list, _ := c.store.List("", store.ListOptions{})
	return list.Records
}

// PassesWithoutEnd returns what a test waits for whose goroutine has a stack.
func PassesWithoutEnd(c *Cluster, idle time.Duration, stack string) string {
	return c.passesWithoutEnd(idle, stack)
}

// Limited gives a cluster other limits than the usual ones; 0 leaves one as it is.
func Limited(header, idle time.Duration, connections int64, watches int) func(*settings) {
	return func(s *settings) {
		if header > 0 {
			s.limits.header = header
		}
		if idle > 0 {
			s.limits.idle = idle
		}
		if connections > 0 {
			s.limits.connections = connections
		}
		s.limits.watches = watches
	}
}

// LimitedAtOneMoment limits the writes, and all requests, that a cluster accepts while the time of a bubble stands still.
func LimitedAtOneMoment(writes, requests int) func(*settings) {
	return func(s *settings) {
		l := &s.limits.standstill
		l.writes, l.requests, l.reads, l.objectReads, l.later = writes, requests, requests-2, requests-5, requests
	}
}
