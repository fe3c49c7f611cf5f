package container

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
)

// label is the key of the profiler label of a container's goroutines. Goroutines that its function starts inherit it.
const label = "fakecluster-container"

// labelled calls a function on a goroutine with the label of a container.
func labelled(ctx context.Context, value string, function func(context.Context)) {
	pprof.Do(ctx, pprof.Labels(label, value), function)
}

// leftover returns a sentence for each line of code that has started still running goroutines of containers whose label
// has the prefix.
func leftover(prefix string) []string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return nil
	}
	var sentences []string
	text := ""
	for record := range strings.SplitSeq(profile.String(), "\n\n") {
		found := labelLine.FindStringSubmatch(record)
		if found == nil {
			continue
		}
		value, err := strconv.Unquote(found[2])
		name, ok := strings.CutPrefix(value, prefix)
		if err != nil || !ok {
			continue
		}
		if text == "" {
			text = stacks()
		}
		frames := profileFrame.FindAllStringSubmatch(record, -1)
		if len(frames) == 0 {
			continue
		}
		function, line := frames[len(frames)-1][1], frames[len(frames)-1][2]
		sentences = append(sentences, fmt.Sprintf("%s has exited, and left %s of %s, %s; a goroutine must end with the context of the function",
			name, count(found[1]), function, startedAt(text, line)))
	}
	return sentences
}

var (
	// labelLine matches the number of goroutines in a record and the label of their container.
	labelLine = regexp.MustCompile(`(?m)^(\d+) @.*\n# labels: .*"` + label + `":("(?:[^"\\]|\\.)*")`)
	// profileFrame matches a function and its line.
	profileFrame = regexp.MustCompile(`(?m)^#\t0x[0-9a-f]+\t(\S+)\+0x[0-9a-f]+\t+(\S+)$`)
	createdBy    = regexp.MustCompile(`(?m)^created by .*\n\t(\S+)`)
)

func count(goroutines string) string {
	if goroutines == "1" {
		return "a goroutine"
	}
	return goroutines + " goroutines"
}

// startedAt returns the line that has started a goroutine whose outermost function is at a line.
func startedAt(stacks, line string) string {
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		before, created, ok := strings.Cut(stack, "\ncreated by ")
		if !ok || !strings.Contains(lastFrame(before), line+" ") {
			continue
		}
		if match := createdBy.FindStringSubmatch("created by " + created); match != nil {
			return "started at " + match[1]
		}
	}
	return "which is at " + line
}

// lastFrame returns the line of the outermost function of a stack.
func lastFrame(stack string) string {
	return stack[strings.LastIndex(stack, "\n")+1:] + " "
}

// stacks returns the stacks of all goroutines.
func stacks() string {
	for size := 1 << 20; ; size *= 2 {
		buffer := make([]byte, size)
		if n := runtime.Stack(buffer, true); n < size {
			return string(buffer[:n])
		}
	}
}
