// Package program is what containers of the differential test of the node agent do. The same programs run under the real kubelet
// and under the node agent.
package program

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Image is the image, without a tag, whose containers run a [Program], given as JSON in the first argument.
const Image = "registry.test/program"

// Killed is the exit code after SIGKILL.
const Killed = 137

// Program is what a container does in each of its starts. The last start repeats.
type Program struct {
	Starts []Start
	// Port is where the container serves [Start.Serve]. Zero: it does not listen.
	Port int `json:",omitempty"`
}

// Start is what a container does in one start. Durations are from the start of the container.
type Start struct {
	// Runs is how long the container runs. Zero: until it gets a signal.
	Runs time.Duration `json:",omitempty"`
	Code int           `json:",omitempty"`
	// Message is the termination message, also after a signal.
	Message string `json:",omitempty"`
	// Reads makes the message what the container reads when it ends: a file, or a variable of its environment such as "$KEY".
	Reads string `json:",omitempty"`
	// Log is a line that the container writes when it starts.
	Log string `json:",omitempty"`
	// EndsAfter is how long the container runs after SIGTERM, and EndCode its exit code then. Negative: it ignores SIGTERM.
	EndsAfter time.Duration `json:",omitempty"`
	EndCode   int           `json:",omitempty"`
	// Changes are the times at which a probe changes its answer, by the name of the probe. It fails before the first one.
	Changes map[string][]time.Duration `json:",omitempty"`
	// Listens is when the container begins to listen at its port.
	Listens time.Duration `json:",omitempty"`
}

// Read reads a file or a variable of a container, as [Start.Reads] names it. It reports false if there is none.
type Read func(name string) (content string, ok bool)

// End returns the termination message.
func (s Start) End(read Read) string {
	if s.Reads == "" {
		return s.Message
	}
	if content, ok := read(s.Reads); ok {
		return s.Reads + " is " + content
	}
	return s.Reads + " is missing"
}

// Parse returns the program of a container.
func Parse(args []string) (Program, error) {
	var p Program
	if len(args) == 0 {
		return p, fmt.Errorf("a container of %s needs a program as its first argument", Image)
	}
	if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
		return p, fmt.Errorf("the program of a container: %w", err)
	}
	if len(p.Starts) == 0 {
		return p, fmt.Errorf("the program %s of a container has no starts", args[0])
	}
	return p, nil
}

// Args returns the arguments of a container with the program.
func (p Program) Args() []string {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // it has strings and numbers only
	}
	return []string{string(data)}
}

// Start returns what the container does in its nth start, from 0.
func (p Program) Start(n int) Start { return p.Starts[min(n, len(p.Starts)-1)] }

// Run runs until the container ends by itself, or after SIGTERM, which is the end of term. It returns the exit code.
func (s Start) Run(term context.Context, killed <-chan struct{}) int {
	var over <-chan time.Time
	if s.Runs > 0 {
		timer := time.NewTimer(s.Runs)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
		return s.Code
	case <-killed:
		return Killed
	case <-term.Done():
	}
	if s.EndsAfter < 0 {
		select {
		case <-over:
			return s.Code
		case <-killed:
			return Killed
		}
	}
	end := time.NewTimer(s.EndsAfter)
	defer end.Stop()
	select {
	case <-over:
		return s.Code
	case <-end.C:
		return s.EndCode
	case <-killed:
		return Killed
	}
}

// Healthy reports whether a probe succeeds at an age of the container.
func (s Start) Healthy(probe string, age time.Duration) bool {
	healthy := false
	for _, change := range s.Changes[probe] {
		if age >= change {
			healthy = !healthy
		}
	}
	return healthy
}

// Serve answers a request of a container that a function reports to be healthy or not by the name of a probe: /NAME for a probe, anything else for
// a hook, which cannot fail.
func (s Start) Serve(w http.ResponseWriter, path string, healthy func(probe string) bool) {
	if name := strings.TrimPrefix(path, "/"); s.Changes[name] != nil && !healthy(name) {
		http.Error(w, name+" is not well", http.StatusServiceUnavailable)
	}
}

// Exec runs a program in a container of an age: "probe NAME" for a probe, "slow DURATION" for one that takes time, "has NAME CONTENT" for one
// that reads, "hook DURATION CODE" for a hook. It returns what it prints.
func (s Start) Exec(ctx context.Context, command []string, age time.Duration, read Read) (code int, output string, err error) {
	switch {
	case len(command) == 2 && command[0] == "probe":
		if s.Healthy(command[1], age) {
			return 0, "", nil
		}
		return 1, command[1] + " is not well", nil
	case len(command) == 2 && command[0] == "slow":
		lasts, err := time.ParseDuration(command[1])
		if err != nil {
			return 0, "", err
		}
		select {
		case <-time.After(lasts):
			return 0, "", nil
		case <-ctx.Done():
			return Killed, "", nil
		}
	case len(command) == 3 && command[0] == "has":
		if content, ok := read(command[1]); !ok || content != command[2] {
			return 1, fmt.Sprintf("%s is not %s yet", command[1], command[2]), nil
		}
		return 0, "", nil
	case len(command) == 3 && command[0] == "hook":
		lasts, err := time.ParseDuration(command[1])
		if err != nil {
			return 0, "", err
		}
		select {
		case <-time.After(lasts):
		case <-ctx.Done():
			return Killed, "", nil
		}
		if command[2] != "0" {
			return 3, "the hook has failed", nil
		}
		return 0, "", nil
	}
	return 0, "", fmt.Errorf("exec: %q: executable file not found in $PATH", command[0])
}

// Counter counts the starts of containers, by key.
type Counter struct {
	mu     sync.Mutex
	starts map[string]int
}

// Next returns the number of starts before this one.
func (c *Counter) Next(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starts == nil {
		c.starts = map[string]int{}
	}
	n := c.starts[key]
	c.starts[key]++
	return n
}
