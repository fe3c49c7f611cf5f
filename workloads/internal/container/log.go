package container

import "sync"

// log keeps the end of what a container writes to its standard streams, for its termination message. It is safe for
// concurrent use.
type log struct {
	mu     sync.Mutex
	text   []byte
	closed bool
}

// Write implements io.Writer. What a function writes after its container has exited is lost.
func (l *log) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.text = append(l.text, data...)
		l.text = append([]byte(nil), l.text[max(0, len(l.text)-fallbackLimit):]...)
	}
	return len(data), nil
}

func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

func (l *log) end() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
