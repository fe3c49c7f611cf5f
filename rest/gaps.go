package rest

import (
	"errors"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// missingError says that a real server would serve what this one does not.
type missingError struct{ message string }

func (e *missingError) Error() string { return e.message }

// Status implements apierrors.APIStatus.
func (e *missingError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Reason: "NotImplemented", Message: e.message}
}

// missingPaths are paths outside of the API that a real server has, and what is missing here.
var missingPaths = map[string]string{
	"metrics": "it measures nothing",
	"logs":    "it has no log files",
	"debug":   "the process is that of the test, and can be looked into there",
}

// gaps tells of what clients have asked for and a real server would have served: each once.
type gaps struct {
	mu   sync.Mutex
	told map[string]bool
	tell func(message string)
}

func newGaps() *gaps {
	return &gaps{told: map[string]bool{}, tell: func(message string) { klog.Info(message) }}
}

// note tells of an error that is about a gap. Other errors are none of its business.
func (g *gaps) note(err error) {
	var missing *missingError
	if !errors.As(err, &missing) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.told[missing.message] && g.tell != nil {
		g.told[missing.message] = true
		g.tell(missing.message)
	}
}

// fail tells of something that a reaction to a write could not do. Unlike a gap, it is told each
// time.
func (g *gaps) fail(message string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tell != nil {
		g.tell(message)
	}
}

// TellGaps has a function told what clients ask for that a real server would serve and this
// one does not: each thing once. It is also told what the server's own controllers tried and
// could not do. Without a call of TellGaps, klog is told. When TellGaps
// returns, the former function is not called any more. A nil function ends the telling.
func (s *Server) TellGaps(tell func(message string)) {
	s.gaps.mu.Lock()
	defer s.gaps.mu.Unlock()
	s.gaps.tell = tell
}
