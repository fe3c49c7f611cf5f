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

// unsupportedLog logs requests that only a real server serves, each kind of them once.
type unsupportedLog struct {
	mu     sync.Mutex
	logged map[string]bool
	log    func(message string) // nil: messages are dropped
}

func newUnsupportedLog() *unsupportedLog {
	return &unsupportedLog{logged: map[string]bool{}, log: func(message string) { klog.Info(message) }}
}

// report logs an unsupportedError. It ignores other errors.
func (u *unsupportedLog) report(err error) {
	if err == nil {
		return
	}
	var missing *unsupportedError
	if !errors.As(err, &missing) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.logged[missing.message] && u.log != nil {
		u.logged[missing.message] = true
		u.log(printable.Text(missing.message))
	}
}

// logFailure logs that a controller has failed. Unlike an unsupportedError, each failure is logged.
func (u *unsupportedLog) logFailure(message string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.log != nil {
		u.log(printable.Text(message))
	}
}

// OnUnsupported sets the function that is called with a message when a client sends a request that a real
// server would serve and this one does not, once for each such thing. It is also called when
// one of the server's own controllers fails. By default these messages go to klog. When
// OnUnsupported returns, the former function is no longer called. Nil: messages are dropped.
func (s *Server) OnUnsupported(log func(message string)) {
	s.unsupported.mu.Lock()
	defer s.unsupported.mu.Unlock()
	s.unsupported.log = log
}
