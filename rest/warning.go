package rest

import (
	"net/http"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// warnings puts warnings into the header of one answer, each text once.
type warnings struct {
	header http.Header

	mu   sync.Mutex
	seen map[string]bool
}

// AddWarning implements warning.Recorder.
func (w *warnings) AddWarning(agent, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text == "" || w.seen[text] {
		return
	}
	if agent == "" {
		agent = "-"
	}
	header, err := utilnet.NewWarningHeader(299, agent, text)
	if err != nil {
		return // an agent or text that no header can carry
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[text] = true
	w.header.Add("Warning", header)
}

// nobody is warned.
type nobody struct{}

// AddWarning implements warning.Recorder.
func (nobody) AddWarning(agent, text string) {}
