package linearizable

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/anishathalye/porcupine"
)

// fields are those of an object's spec that the clients write. Zero is absent.
type fields struct{ A, B, C int }

// call is the request of a client.
type call struct {
	verb   string // get, update, patch, apply or delete
	object string
	// revision is the precondition of an update.
	revision int
	// fields are all those that an update sets. A patch sets B and an apply sets C.
	fields fields
}

// answer is what the cluster said.
type answer struct {
	code     int // cut if the connection was cut before an answer came
	revision int // of the object; 0 if the answer has none
	fields   fields
}

// register is an object as the model has it.
type register struct {
	present  bool
	revision int // of the newest write with a revision in its answer; the answer to a delete does not have one
	// unanswered is set if the newest write has a later revision, which is in no answer.
	unanswered bool
	fields     fields
}

// cut is the code of a write whose connection was cut: the client does not know whether it was made. Such an
// operation has no end, so one that was not made may stand after all others, where nobody sees it.
const cut = 0

// model is a register for each object.
func model() porcupine.Model {
	return porcupine.Model{
		Partition: byObject,
		Init:      func() any { return register{} },
		Step: func(state, input, output any) (bool, any) {
			next, ok := step(state.(register), input.(call), output.(answer))
			return ok, next
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
	}
}

func byObject(history []porcupine.Operation) [][]porcupine.Operation {
	var parts [][]porcupine.Operation
	place := map[string]int{}
	for _, o := range history {
		object := o.Input.(call).object
		i, ok := place[object]
		if !ok {
			i = len(parts)
			place[object] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], o)
	}
	return parts
}

// step returns the object after an operation, and whether its answer could have been that.
func step(r register, c call, a answer) (register, bool) {
	if a.code == http.StatusNotFound {
		return r, !r.present && c.verb != "apply"
	}
	if a.code == cut {
		return afterUnanswered(r, c), true
	}
	if refused(a.code) {
		return r, true // a fault; nothing has been written
	}
	wrote := register{present: true, revision: a.revision, fields: r.fields}
	switch c.verb {
	case "get":
		fits := a.revision == r.revision
		if r.unanswered {
			fits = a.revision > r.revision
			r.revision, r.unanswered = a.revision, false
		}
		return r, a.code == http.StatusOK && fits && a.fields == r.fields && r.present
	case "delete":
		return register{revision: r.revision}, a.code == http.StatusOK && r.present
	case "update":
		if a.code == http.StatusConflict {
			return r, r.present && (c.revision != r.revision || r.unanswered)
		}
		if c.revision != r.revision || r.unanswered { // no client can send a revision that was in no answer
			return r, false
		}
		wrote.fields = c.fields
	case "patch":
		if a.code == http.StatusConflict {
			return r, true // it gave up, after five attempts, as a real server does
		}
		wrote.fields.B = c.fields.B
	case "apply":
		if a.code == http.StatusConflict {
			return r, true // likewise
		}
		if r.present != (a.code == http.StatusOK) {
			return r, false
		}
		if !r.present {
			wrote.fields = fields{}
		}
		wrote.fields.C = c.fields.C
	}
	ok := a.code == http.StatusOK || c.verb == "apply" && a.code == http.StatusCreated
	return wrote, ok && (r.present || c.verb == "apply") && a.revision > r.revision && a.fields == wrote.fields
}

// afterUnanswered returns the object after a write without an answer, if it was made.
func afterUnanswered(r register, c call) register {
	after := register{present: true, revision: r.revision, unanswered: true, fields: r.fields}
	switch c.verb {
	case "delete":
		return register{revision: r.revision, unanswered: r.unanswered}
	case "update":
		if !r.present || r.unanswered || c.revision != r.revision {
			return r
		}
		after.fields = c.fields
	case "patch":
		if !r.present {
			return r
		}
		after.fields.B = c.fields.B
	case "apply":
		if !r.present {
			after.fields = fields{}
		}
		after.fields.C = c.fields.C
	}
	return after
}

// refused reports whether a code is that of a fault before anything was written.
func refused(code int) bool {
	return code == http.StatusForbidden || code == http.StatusTooManyRequests || code >= 500
}

// disordered names writes whose revisions contradict the times of their calls and answers, whichever
// objects they were of: there is one counter.
func disordered(history []porcupine.Operation) string {
	var wrong []string
	byRevision := map[int]porcupine.Operation{}
	for _, o := range history {
		if a := o.Output.(answer); a.code != cut && a.code < 300 && a.revision != 0 && o.Input.(call).verb != "get" {
			if other, ok := byRevision[a.revision]; ok {
				wrong = append(wrong, fmt.Sprintf("%+v and %+v have one revision", o, other))
			}
			byRevision[a.revision] = o
		}
	}
	// The newest revision in an answer before the call of an operation is older than its own.
	for _, o := range byRevision {
		for revision, other := range byRevision {
			if other.Return < o.Call && revision > o.Output.(answer).revision {
				wrong = append(wrong, fmt.Sprintf("%+v was over before %+v began", other, o))
			}
		}
	}
	return strings.Join(wrong, "\n")
}
