package explore

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

// deposed is the effect of a point at which the operator loses its lease in the middle of its work: its node is cut off right before a write. Another
// instance takes over, and then the write arrives, which was under way all the time. It is for trials of operators that elect a leader; Kubernetes'
// leases promise others no more than that a new leader comes later.
const deposed = "deposed"

// arrivesAfter is how late the write arrives. A lease of client-go's usual length is taken over within 20 seconds, and in a trial with faults each step
// lasts longer than this.
const arrivesAfter = 45 * time.Second

// arriveLate sends a request when another instance has taken over.
func (r *run) arriveLate(to http.RoundTripper, req *http.Request) error {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return err
		}
	}
	later := req.Clone(context.WithoutCancel(req.Context()))
	later.Body = io.NopCloser(bytes.NewReader(body))
	r.restarts.Go(func() {
		time.Sleep(arrivesAfter)
		if resp, err := to.RoundTrip(later); err == nil {
			_ = resp.Body.Close()
		}
	})
	return nil
}

// electsLeader reports whether the operator has written a Lease in a trial before there was something to do.
func (o *outcome) electsLeader() bool {
	if len(o.times) == 0 {
		return false
	}
	for _, s := range o.run.seen {
		if s.resource == "leases.coordination.k8s.io" && (s.verb == "create" || s.verb == "update" || s.verb == "patch") && s.time.Before(o.times[0]) {
			return true
		}
	}
	return false
}
