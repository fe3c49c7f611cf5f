package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fakecluster/fakecluster/internal/printable"
)

// The effects of faults, in the order in which they are tried.
const (
	crashAfter  = "crash-after"
	cutAfter    = "cut-after"
	late        = "late"
	stale       = "stale"
	cutBefore   = "cut-before"
	crashBefore = "crash-before"
	drop        = "drop"
	order       = "order"
)

var effects = []string{crashAfter, cutAfter, late, stale, cutBefore, crashBefore, drop, order}

// request identifies requests of the same kind: who sends them, the verb and the object.
type request struct {
	controller, verb, resource, object string
}

// point is a fault: an effect, and the request that it applies to.
type point struct {
	effect  string
	request request
	nth     int // the number of the request among equal requests, from 1
	// amount is how many events come before a drop, by how many revisions a read is stale, or the
	// seed of an order.
	amount int
}

// String returns the point as a part of a schedule.
func (p point) String() string {
	if p.effect == order {
		return fmt.Sprint(order, " ", p.amount)
	}
	text := fmt.Sprint(p.effect, " ", p.request.controller, " ", p.request.verb, " ", p.request.resource, " ", p.request.object, " ", p.nth)
	if p.effect == drop || p.effect == stale {
		text += fmt.Sprint(" ", p.amount)
	}
	return text
}

// explain returns the point as a sentence.
func (p point) explain() string {
	request := p.request
	what := fmt.Sprintf("%s of %s", request.verb, request.resource)
	if request.object != "-" {
		what += " " + request.object
	}
	if p.nth > 1 {
		what += fmt.Sprintf(" (number %d)", p.nth)
	}
	switch p.effect {
	case crashAfter:
		return fmt.Sprintf("%s stops right after the %s, and is started again", request.controller, what)
	case crashBefore:
		return fmt.Sprintf("%s stops right before the %s, and is started again", request.controller, what)
	case deposed:
		return fmt.Sprintf("%s loses its lease right before the %s, which arrives when another instance has taken over", request.controller, what)
	case userBefore:
		return fmt.Sprintf("the user takes the steps (at once) right before the %s by %s", what, request.controller)
	case cutAfter:
		return fmt.Sprintf("the connection breaks after the %s by %s has been made", what, request.controller)
	case cutBefore:
		return fmt.Sprintf("the connection breaks before the %s by %s is made", what, request.controller)
	case late:
		return fmt.Sprintf("the events of the %s by %s come %v late", what, request.controller, lateBy)
	case drop:
		return fmt.Sprintf("the connection of the %s by %s breaks after %s", what, request.controller, printable.Count(p.amount, "event"))
	case stale:
		return fmt.Sprintf("the %s by %s is answered as of %s before", what, request.controller, printable.Count(p.amount, "revision"))
	}
	return fmt.Sprintf("the events of the watches come in the order %d", p.amount)
}

// schedule has the faults of one run.
type schedule []point

// text returns the schedule of a test in the form that Replay takes.
func (s schedule) text(test string) string {
	parts := make([]string, len(s))
	for i, p := range s {
		parts[i] = p.String()
	}
	return test + ": " + strings.Join(parts, "; ")
}

// parse reads a schedule of a test.
func parse(text, test string) (schedule, error) {
	controller, rest, ok := strings.Cut(text, ": ")
	if !ok {
		controller, ok = strings.CutSuffix(text, ":")
	}
	if !ok {
		return nil, fmt.Errorf("the schedule %q does not begin with the name of its test", text)
	}
	if controller != test {
		return nil, fmt.Errorf("the schedule belongs to the test %s, not to %s", controller, test)
	}
	var s schedule
	for part := range strings.SplitSeq(rest, ";") {
		fields := strings.Fields(part)
		if len(fields) == 0 {
			continue
		}
		p, err := parsePoint(fields, effects)
		if err != nil {
			return nil, fmt.Errorf("the part %q of the schedule: %w", strings.TrimSpace(part), err)
		}
		s = append(s, p)
	}
	return s, nil
}

func parsePoint(fields, effects []string) (p point, err error) {
	p.effect = fields[0]
	want := 6
	switch {
	case !slices.Contains(effects, p.effect):
		return p, fmt.Errorf("unknown fault %q; the faults are %s", p.effect, strings.Join(effects, ", "))
	case p.effect == order:
		want = 2
	case p.effect == drop || p.effect == stale:
		want = 7
	}
	if len(fields) != want {
		return p, fmt.Errorf("%s takes %d words, not %d", p.effect, want-1, len(fields)-1)
	}
	numbers := fields[1:]
	if p.effect != order {
		p.request = request{fields[1], fields[2], fields[3], fields[4]}
		if p.nth, err = strconv.Atoi(fields[5]); err != nil || p.nth < 1 {
			return p, fmt.Errorf("%q is not the number of a request: the first is 1", fields[5])
		}
		numbers = fields[6:]
	}
	if len(numbers) == 1 {
		if p.amount, err = strconv.Atoi(numbers[0]); err != nil || p.amount < 0 {
			return p, fmt.Errorf("%q is not a whole number, 0 or more", numbers[0])
		}
	}
	return p, nil
}
