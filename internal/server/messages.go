package server

import (
	"sync"

	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/printable"
)

// Messages has what a cluster says to whoever runs it, and not to its clients. It is safe for concurrent use. Make one with
// newMessages.
type Messages struct {
	mu   sync.Mutex
	said map[string]bool
	to   func(message string) // nil: messages are dropped
}

func newMessages() *Messages {
	return &Messages{said: map[string]bool{}, to: func(message string) { klog.Info(message) }}
}

// To sets the function that is called with each message: when a client sends a request that a real
// server would serve and this one does not, once for each such thing, and each time that
// one of the server's own controllers fails. By default these messages go to klog. When
// To returns, the former function is no longer called. Nil: messages are dropped.
func (m *Messages) To(log func(message string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.to = log
}

// Once says a message, unless it has been said before.
func (m *Messages) Once(message string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.said[message] && m.to != nil {
		m.said[message] = true
		m.to(printable.Text(message))
	}
}

// Each says a message.
func (m *Messages) Each(message string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.to != nil {
		m.to(printable.Text(message))
	}
}
