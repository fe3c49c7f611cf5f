package rest

import (
	"errors"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/printable"
)

// missingError says that a real server would serve what this one does not.
type missingError struct{ message string }

func (e *missingError) Error() string { return e.message }

// Status implements apierrors.APIStatus.
func (e *missingError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Reason: "NotImplemented", Message: e.message}
}

// missingPaths are paths outside the API that a real server has, with the reason why this one
// does not.
var missingPaths = map[string]string{
	"debug/flags":                     "the verbosity of logs is that of the process, which is the test's",
	"debug/api_priority_and_fairness": "no request waits in a queue",
}

// gaps reports what clients have asked for and only a real server serves, each thing once.
type gaps struct {
	mu   sync.Mutex
	told map[string]bool
	tell func(message string)
}

func newGaps() *gaps {
	return &gaps{told: map[string]bool{}, tell: func(message string) { klog.Info(message) }}
}

// note tells an error that is about a gap. It ignores other errors.
func (g *gaps) note(err error) {
	if err == nil {
		return
	}
	var missing *missingError
	if !errors.As(err, &missing) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.told[missing.message] && g.tell != nil {
		g.told[missing.message] = true
		g.tell(printable.Text(missing.message))
	}
}

// fail tells that a reaction to a write has failed. Unlike a gap, this is told each time.
func (g *gaps) fail(message string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tell != nil {
		g.tell(printable.Text(message))
	}
}

// TellGaps sets the function that is called when a client asks for something that a real
// server would serve and this one does not, once for each such thing. It is also called when
// one of the server's own controllers fails. At first these messages go to klog. When
// TellGaps returns, the former function is not called any more. Nil: messages are dropped.
func (s *Server) TellGaps(tell func(message string)) {
	s.gaps.mu.Lock()
	defer s.gaps.mu.Unlock()
	s.gaps.tell = tell
}
