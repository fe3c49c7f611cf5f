package server

import (
	"sync"

	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/printable"
)

// Messages logs messages for the user of a cluster. It is safe for concurrent use.
type Messages struct {
	mu     sync.Mutex
	logged map[string]bool
	to     func(message string) // nil: messages are dropped
}

func newMessages() *Messages {
	return &Messages{logged: map[string]bool{}, to: func(message string) { klog.Info(message) }}
}

// To sets the function that is called with each message; nil drops messages. There is a message for the first request of
// each kind that a real server would serve and this one does not, and for each failure of one of the server's own
// controllers. By default messages go to klog. When To returns, the former function is no longer called.
func (m *Messages) To(log func(message string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.to = log
}

// Once logs a message, unless it has been logged before.
func (m *Messages) Once(message string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.logged[message] && m.to != nil {
		m.logged[message] = true
		m.to(printable.Text(message))
	}
}

// Each logs a message.
func (m *Messages) Each(message string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.to != nil {
		m.to(printable.Text(message))
	}
}
