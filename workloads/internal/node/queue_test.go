package node

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestANodeFirstSyncsThePodsThatRun proves the order of the queue when a node starts, also with pods that it does not know yet.
func TestANodeFirstSyncsThePodsThatRun(t *testing.T) {
	q := newQueue()
	created := func(uid types.UID, second int64, started bool) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid, Namespace: "default", Name: string(uid), CreationTimestamp: metav1.Unix(second, 0)}}
		if started {
			p.Status.StartTime = &metav1.Time{Time: time.Unix(second, 0)}
		}
		q.change(p, false)
	}
	q.add("certificate-b") // of a PodCertificateRequest, whose informer may be earlier than that of pods
	created("new-late", 2, false)
	created("running", 3, true)
	q.add("certificate-a")
	created("new-early", 1, false)
	q.sortFirst()
	var got []types.UID
	for t, ok := q.next(); ok; t, ok = q.next() {
		got = append(got, t.uid)
	}
	if want := []types.UID{"running", "new-early", "new-late", "certificate-b", "certificate-a"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
