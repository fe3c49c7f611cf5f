package rest

import (
	"errors"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/printable"
)

// unsupportedError says that a real server would serve what this one does not.
type unsupportedError struct{ message string }

func (e *unsupportedError) Error() string { return e.message }

// Status implements apierrors.APIStatus.
func (e *unsupportedError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Reason: "NotImplemented", Message: e.message}
}

// unsupportedPaths are paths outside the API that a real server has, with the reason why this one
// does not.
var unsupportedPaths = map[string]string{
	"debug/flags":                     "the verbosity of logs is that of the process, which is the test's",
	"debug/api_priority_and_fairness": "no request waits in a queue",
}

// unsupportedLog reports what clients have asked for and only a real server serves, each thing once.
type unsupportedLog struct {
	mu   sync.Mutex
	told map[string]bool
	tell func(message string)
}

func newUnsupportedLog() *unsupportedLog {
	return &unsupportedLog{told: map[string]bool{}, tell: func(message string) { klog.Info(message) }}
}

// report tells an error that is about a gap. It ignores other errors.
func (g *unsupportedLog) report(err error) {
	if err == nil {
		return
	}
	var missing *unsupportedError
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

// logFailure tells that a reaction to a write has failed. Unlike a gap, this is told each time.
func (g *unsupportedLog) logFailure(message string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tell != nil {
		g.tell(printable.Text(message))
	}
}

// OnUnsupported sets the function that is called when a client asks for something that a real
// server would serve and this one does not, once for each such thing. It is also called when
// one of the server's own controllers fails. At first these messages go to klog. When
// OnUnsupported returns, the former function is not called any more. Nil: messages are dropped.
func (s *Server) OnUnsupported(tell func(message string)) {
	s.gaps.mu.Lock()
	defer s.gaps.mu.Unlock()
	s.gaps.tell = tell
}
