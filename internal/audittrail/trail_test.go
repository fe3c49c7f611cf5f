package audittrail

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"

	"github.com/fakecluster/fakecluster/internal/testing/compare"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func newTrail(level auditinternal.Level, log *Log) *Trail {
	return New(level, log, func() time.Time { return noon })
}

// event is an event with an object of a size.
func event(id, size int) *auditinternal.Event {
	return &auditinternal.Event{AuditID: types.UID(fmt.Sprint(id)), Stage: auditinternal.StageResponseComplete, RequestObject: &runtime.Unknown{Raw: make([]byte, size)}}
}

// ids are the first and the last of the events, and their number.
func ids(t *Trail) string {
	events := t.Events()
	return fmt.Sprintf("%s to %s, %d", events[0].AuditID, events[len(events)-1].AuditID, len(events))
}

func TestTheNewestEventsAreKept(t *testing.T) {
	trail := newTrail(auditinternal.LevelRequest, nil)
	for id := range maxEvents + 5 {
		trail.ProcessEvents(event(id, 0))
	}
	compare.Equal(t, "the events", ids(trail), fmt.Sprintf("5 to %d, %d", maxEvents+4, maxEvents))
}

func TestTheObjectsOfEventsAreBounded(t *testing.T) {
	trail := newTrail(auditinternal.LevelRequest, nil)
	for id := range 4 {
		trail.ProcessEvents(event(id, maxBytes/4))
	}
	compare.Equal(t, "at the bound", ids(trail), "0 to 3, 4")
	trail.ProcessEvents(event(4, 1))
	compare.Equal(t, "a byte more", ids(trail), "1 to 4, 4")
	trail.ProcessEvents(event(5, maxBytes+1))
	compare.Equal(t, "one that is larger than the bound", ids(trail), "5 to 5, 1")
}

func TestEventsHaveTheTimeOfTheClusterAndAreCopies(t *testing.T) {
	trail := newTrail(auditinternal.LevelRequest, nil)
	trail.ProcessEvents(event(1, 3))
	got := trail.Events()[0]
	compare.Equal(t, "the time", got.StageTimestamp.UTC(), noon)
	compare.Equal(t, "the kind", got.Kind+" "+got.APIVersion, "Event audit.k8s.io/v1")
	got.RequestObject.Raw[0] = 'x'
	compare.Equal(t, "what a caller has altered", trail.Events()[0].RequestObject.Raw, []byte{0, 0, 0})
}

func TestATrailExistsForEventsOrForALog(t *testing.T) {
	compare.Equal(t, "without a level and a log", newTrail("", nil) == nil, true)
	compare.Equal(t, "with the level None", newTrail(auditinternal.LevelNone, nil) == nil, true)
	var none *Trail
	compare.Equal(t, "the events of none", len(none.Events()), 0)

	var to bytes.Buffer
	logged := newTrail("", &Log{Policy: &auditinternal.Policy{Rules: []auditinternal.PolicyRule{{Level: auditinternal.LevelMetadata}}}, To: &to})
	compare.Equal(t, "the level of events for a log", logged.Level, auditinternal.LevelRequestResponse)
	logged.ProcessEvents(event(1, 1))
	compare.Equal(t, "events that only a log has", len(logged.Events()), 0)
	compare.Equal(t, "lines of the log", bytes.Count(to.Bytes(), []byte("\n")), 2)
}
