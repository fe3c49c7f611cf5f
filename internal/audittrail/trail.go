package audittrail

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/klog/v2"
)

// The bounds of a Trail: the number of events, and the bytes of the objects in them.
const (
	maxEvents = 10_000
	maxBytes  = 64 << 20
)

// Trail has the audit events of a server, as upstream's audit filter would log them with one level for all requests and
// without the stage RequestReceived. It is safe for concurrent use.
type Trail struct {
	// Level is the level of the events. It must not be changed.
	Level auditinternal.Level

	keeps bool    // Events returns the events
	log   *writer // nil: none
	now   func() time.Time

	mu     sync.Mutex
	events []auditv1.Event
	bytes  int // of the objects in events
}

// New returns a Trail; nil if neither events nor a log are configured. Events for a log have the highest level, because
// its policy is applied when the request is complete.
func New(level auditinternal.Level, log *Log, now func() time.Time) *Trail {
	if level == "" {
		level = auditinternal.LevelNone
	}
	t := &Trail{Level: level, keeps: level != auditinternal.LevelNone, log: newWriter(log), now: now}
	if log != nil {
		t.Level = auditinternal.LevelRequestResponse
	}
	if t.Level == auditinternal.LevelNone {
		return nil
	}
	return t
}

// Events returns the newest audit events, up to 10,000 with up to 64 MiB of objects, in the order in which the requests
// were answered. It has the event of a request before the response is sent. A nil Trail, and one that only writes a log,
// has none.
func (t *Trail) Events() []auditv1.Event {
	if t == nil || !t.keeps {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	events := make([]auditv1.Event, len(t.events))
	for i := range events {
		t.events[i].DeepCopyInto(&events[i])
	}
	return events
}

// ProcessEvents implements audit.Sink. It sets the times of events by the clock of the cluster; upstream has set them by
// that of the process.
func (t *Trail) ProcessEvents(events ...*auditinternal.Event) bool {
	for _, event := range events {
		stamped := *event
		stamped.StageTimestamp = metav1.NewMicroTime(t.now())
		e := &stamped
		if t.log != nil {
			if err := t.log.write(e); err != nil {
				klog.ErrorS(err, "The audit log lacks an event")
			}
		}
		if !t.keeps {
			continue
		}
		var out auditv1.Event
		if err := auditv1.Convert_audit_Event_To_v1_Event(e.DeepCopy(), &out, nil); err != nil {
			klog.ErrorS(err, "An audit event cannot be converted")
			continue
		}
		out.SetGroupVersionKind(auditv1.SchemeGroupVersion.WithKind("Event"))
		t.add(out)
	}
	return true
}

// add adds an event, and drops the oldest ones beyond the bounds.
func (t *Trail) add(e auditv1.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, e)
	t.bytes += objectBytes(&e)
	for len(t.events) > maxEvents || t.bytes > maxBytes && len(t.events) > 1 {
		t.bytes -= objectBytes(&t.events[0])
		t.events[0] = auditv1.Event{}
		t.events = t.events[1:]
	}
}

func objectBytes(e *auditv1.Event) (n int) {
	for _, obj := range []*runtime.Unknown{e.RequestObject, e.ResponseObject} {
		if obj != nil {
			n += len(obj.Raw)
		}
	}
	return n
}
