package rest

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/klog/v2"
)

// A sink keeps the newest events, up to this number and this size of the objects in them.
const (
	maxAuditEvents = 10_000
	maxAuditBytes  = 64 << 20
)

// auditSink has the audit events of a server: what upstream's audit filter would write to its
// log, with one level for all requests and without the stage RequestReceived.
type auditSink struct {
	level auditinternal.Level
	keeps bool      // AuditEvents has the events
	log   *auditLog // nil: there is none
	now   func() time.Time

	mu     sync.Mutex
	events []auditv1.Event
	bytes  int // of the objects in them
}

// newAuditSink returns a sink, or nil if neither events nor a log are configured. Events for a log
// have the highest level, because its policy is applied only when the request is complete.
func newAuditSink(level auditinternal.Level, log *AuditLog, now func() time.Time) *auditSink {
	if level == "" {
		level = auditinternal.LevelNone
	}
	t := &auditSink{level: level, keeps: level != auditinternal.LevelNone, log: newAuditLog(log), now: now}
	if log != nil {
		t.level = auditinternal.LevelRequestResponse
	}
	if t.level == auditinternal.LevelNone {
		return nil
	}
	return t
}

// AuditEvents returns the newest audit events: up to 10,000, with up to 64 MiB
// of objects. They are in the order in which the requests were answered. The event of a
// request is there before its answer leaves the server.
func (s *Server) AuditEvents() []auditv1.Event {
	if s.audit == nil || !s.audit.keeps {
		return nil
	}
	return s.audit.list()
}

func (t *auditSink) list() []auditv1.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	events := make([]auditv1.Event, len(t.events))
	for i := range events {
		t.events[i].DeepCopyInto(&events[i])
	}
	return events
}

// ProcessEvents implements audit.Sink. It stamps events with the time of the cluster; upstream
// has stamped them with that of the process.
func (t *auditSink) ProcessEvents(events ...*auditinternal.Event) bool {
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

// add adds an event, and forgets the oldest if there are too many.
func (t *auditSink) add(e auditv1.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, e)
	t.bytes += objectBytes(&e)
	for len(t.events) > maxAuditEvents || t.bytes > maxAuditBytes && len(t.events) > 1 {
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
