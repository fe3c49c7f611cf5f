package rest

import (
	"net/http"
	"sync"
	"unicode/utf8"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/fakecluster/fakecluster/internal/observe"
)

// The limits on the warnings of one answer, in runes: on all together and, if they exceed that, on each. They
// are a real server's.
const (
	maxWarnings = 4 * 1024
	maxWarning  = 256
)

// warnings puts warnings into the header of one answer, each text once.
type warnings struct {
	header  http.Header
	observe *observe.Request

	mu      sync.Mutex
	seen    map[string]bool
	given   []given
	runes   int // in the header
	cutting bool
	ended   bool
}

type given struct{ agent, text string }

// AddWarning implements warning.Recorder.
func (w *warnings) AddWarning(agent, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || text == "" || w.seen[text] || w.cutting && w.runes >= maxWarnings {
		return
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[text] = true
	w.given = append(w.given, given{agent, text})
	w.observe.Warning(text)
	if w.cutting || w.runes+utf8.RuneCountInString(text) <= maxWarnings {
		w.put(agent, text)
		return
	}
	// Too long: cut all those before as well.
	w.cutting, w.runes = true, 0
	w.header.Del("Warning")
	for _, g := range w.given {
		w.put(g.agent, g.text)
	}
}

// end drops all further warnings, because the header is about to be sent.
func (w *warnings) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// put adds one warning to the header.
func (w *warnings) put(agent, text string) {
	if agent == "" {
		agent = "-"
	}
	length := utf8.RuneCountInString(text)
	if w.cutting && length > maxWarning {
		text, length = string([]rune(text)[:maxWarning]), maxWarning
	}
	header, err := utilnet.NewWarningHeader(299, agent, text)
	if err != nil {
		return // an agent or text that no header can carry
	}
	w.runes += length
	w.header.Add("Warning", header)
}
