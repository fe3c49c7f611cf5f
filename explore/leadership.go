package explore

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// deposed is the effect that the operator loses its lease in the middle of its work: its node loses the
// connection right before a write, another instance takes over, and then the delayed write arrives. A lease
// does not prevent that, because the server does not check it. The effect is for trials of operators that
// elect a leader.
const deposed = "deposed"

// arrivesAfter is how long after the end of the lease the write arrives. By then another instance has taken
// over.
const arrivesAfter = 30 * time.Second

// leaseDuration is the longest time for which a leader may hold its lease without renewing it. An error of the list fails the trial.
func (r *run) leaseDuration() (longest time.Duration) {
	leases, err := r.cluster.Clientset().CoordinationV1().Leases("").List(context.Background(), listOptions)
	if err != nil {
		r.t.Errorf("the leases cannot be listed: %v", err)
		return 0
	}
	for _, l := range leases.Items {
		if seconds := l.Spec.LeaseDurationSeconds; seconds != nil && l.Namespace != corev1.NamespaceNodeLease {
			longest = max(longest, time.Duration(*seconds)*time.Second)
		}
	}
	return longest
}

// arriveLate sends a request later, after another instance has taken over.
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
	late := r.leaseDuration() + arrivesAfter
	r.restarts.Go(func() {
		time.Sleep(late)
		if resp, err := to.RoundTrip(later); err == nil {
			_ = resp.Body.Close()
		}
	})
	return nil
}

// electsLeader reports whether the operator has written a Lease before the first step of a trial.
func (o *outcome) electsLeader() bool {
	if len(o.times) == 0 {
		return false
	}
	return slices.ContainsFunc(o.run.seen, func(s *sentRequest) bool {
		return s.resource == "leases.coordination.k8s.io" && (s.verb == "create" || s.verb == "update" || s.verb == "patch") && s.time.Before(o.times[0])
	})
}
