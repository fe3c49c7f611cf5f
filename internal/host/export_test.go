package host

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// Routes returns the methods and paths of all operations.
func Routes() (found []string) {
	for _, o := range operations() {
		found = append(found, o.method+" "+o.path)
	}
	return found
}

// OpensLate reports whether a trial that has been played is played in a bubble that opens after that.
func OpensLate() bool {
	x := &exploration{ctx: context.Background(), trials: map[int]*trial{}, lines: json.NewEncoder(io.Discard), flush: func() error { return nil }}
	tr := x.begin().(*trial)
	tr.reports <- TrialReport{Ended: true}
	_, _ = tr.Play(nil, nil, nil) // it has no bubble
	return tr.openedBy(&driver{})
}

// PanicsTwice returns the panics of a trial in which the operator has panicked, as two versions of the operator get them.
func PanicsTwice(text string) (former, latter []string) {
	tr := trial{panics: []string{text}}
	return tr.Panics(), tr.Panics()
}

// Frame returns a frame of a client with one request; without a method it has none.
func Frame(now time.Time, exchange uint64, cluster, method, uri, token, body string) []byte {
	f := make([]byte, frameHead)
	if method != "" {
		f = appendKind(f, beginExchange, exchange)
		f = appendText(appendText(appendText(appendText(f, cluster), method), uri), "host")
		f = appendText(appendHeader(f, http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}), body)
	}
	sealFrame(f, now)
	return f
}

// CancelFrame returns a frame of a client that cancels an exchange.
func CancelFrame(now time.Time, exchange uint64) []byte {
	f := appendKind(make([]byte, frameHead), cancelExchange, exchange)
	sealFrame(f, now)
	return f
}

// Nonsense returns a frame of a client with a message that there is not.
func Nonsense(now time.Time) []byte {
	f := appendKind(make([]byte, frameHead), 99, 1)
	sealFrame(f, now)
	return f
}

// Answered is what a frame of the host says about an exchange.
type Answered struct {
	Status int
	Body   string
	Ended  bool
	Err    string
}

// ReadAnswers reads a frame of the host, and adds what it says. Mistakes are the error of exchange 0.
func ReadAnswers(r *bufio.Reader, answers map[uint64]Answered) (now time.Time, err error) {
	now, messages, _, err := readFrame(r, nil)
	for err == nil && len(messages) > 0 {
		var kind byte
		var id, status uint64
		var text []byte
		if kind, id, err = messages.kind(); err != nil {
			return now, err
		}
		a := answers[id]
		switch kind {
		case answerHead:
			if status, err = messages.number(); err == nil {
				_, err = messages.header()
			}
			a.Status = int(status)
		case answerData:
			text, err = messages.text()
			a.Body += string(text)
		case timeExpected:
			if _, err = messages.number(); err == nil {
				_, err = messages.number()
			}
		case trialEnded:
		case callFunction:
			messages = nil // the rest is about the call
		case answerEnd, mistakeFound, bubbleEnded:
			text, err = messages.text()
			a.Ended, a.Err = true, string(text)
		default:
			err = errFrame
		}
		answers[id] = a
	}
	return now, err
}
