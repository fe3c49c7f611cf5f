package bubble

import (
	"slices"
	"strings"
)

// runningChecks is how many checks in a row have to find that a goroutine runs.
const runningChecks = 20

// running is a bubble in which a goroutine may run without a pause.
type running struct {
	bubble string
	found  func(stack string)
	checks int
	last   []string // the goroutines that ran at each of these checks, by their numbers
}

// WatchRunning watches the bubble of the caller until stop is called, if Watch does, too. found is called at most once, outside of the bubble, if a goroutine of the
// bubble runs at twenty checks in a row, and the number of Watch has not changed meanwhile: it loops, or computes something.
func WatchRunning(found func(stack string)) (stop func()) {
	number := current()
	if number == "" || Driven() {
		return func() {}
	}
	r := &running{bubble: number, found: found}
	watched.mu.Lock()
	defer watched.mu.Unlock()
	watched.running = append(watched.running, r)
	return func() {
		watched.mu.Lock()
		defer watched.mu.Unlock()
		watched.running = slices.DeleteFunc(watched.running, func(other *running) bool { return other == r })
	}
}

// checkRunning compares the goroutines that run with those of the last check, and returns what to call.
func (ws *watches) checkRunning(text string) (reports []func()) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, r := range slices.Clone(ws.running) {
		stacks := map[string]string{} // of the goroutines that run, by number
		for stack := range strings.SplitSeq(text, "\n\n") {
			header := goroutineHeader.FindStringSubmatch(stack)
			if header == nil || header[3] != r.bubble {
				continue
			}
			switch state, _, _ := strings.Cut(header[2], ", "); state {
			case "running", "runnable", "preempted", "copystack", "GC assist wait", "GC assist marking":
				stacks[header[1]] = strings.TrimSpace(stack)
			}
		}
		if r.checks == 0 {
			for number := range stacks {
				r.last = append(r.last, number)
			}
		} else {
			r.last = slices.DeleteFunc(r.last, func(number string) bool { return stacks[number] == "" })
		}
		if len(r.last) == 0 {
			r.checks = 0
			continue
		}
		if r.checks++; r.checks < runningChecks {
			continue
		}
		stack := stacks[slices.Min(r.last)]
		reports = append(reports, func() { r.found(stack) })
		ws.running = slices.DeleteFunc(ws.running, func(other *running) bool { return other == r })
	}
	return reports
}

// worked says that a bubble has done something since the last check.
func (ws *watches) worked(bubbles map[string]bool) {
	for _, r := range ws.running {
		if bubbles[r.bubble] {
			r.checks, r.last = 0, nil
		}
	}
}
