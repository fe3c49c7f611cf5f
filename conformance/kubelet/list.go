package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// listFile is the list of the Pods that differ, in the folder of the module.
const listFile = "kubelet.txt"

// unexplained stands in the list in the place of a reason that is not known.
const unexplained = "UNEXPLAINED"

// list is the content of listFile: which Pods of a seed were compared, and why some differ.
type list struct {
	seed uint64
	// pods is how many Pods were compared: those from 0 to pods-1.
	pods int
	// differ has the reason for each Pod that differs, and the differences below an unexplained one.
	differ map[int]string
}

// readList reads a list. A file that does not exist is an empty list of the seed.
func readList(path string, seed uint64) (*list, error) {
	l := &list{seed: seed, differ: map[int]string{}}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	last := -1
	for line := range strings.Lines(string(content)) {
		var n int
		switch {
		case strings.HasPrefix(line, "# Seed"):
			if _, err := fmt.Sscanf(line, "# Seed %d, %d pods:", &l.seed, &l.pods); err != nil {
				return nil, fmt.Errorf("%s: %q: %w", path, line, err)
			}
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "p"):
			if _, err := fmt.Sscanf(line, "p%d", &n); err != nil {
				return nil, fmt.Errorf("%s: %q: %w", path, line, err)
			}
			_, why, _ := strings.Cut(line, " ")
			l.differ[n], last = why, n
		case last < 0:
			return nil, fmt.Errorf("%s: %q stands below no pod", path, line)
		default:
			l.differ[last] += line
		}
	}
	if l.seed != seed {
		return nil, fmt.Errorf("%s is the list of seed %d, not of %d", path, l.seed, seed)
	}
	return l, nil
}

// update puts a result into the list, in the place of what it says about the same Pods.
func (l *list) update(r *result) error {
	for _, n := range r.pods {
		if n > l.pods {
			return fmt.Errorf("the list has the pods before p%d: begin with -first %d or less", l.pods, l.pods)
		}
		l.pods = max(l.pods, n+1)
		delete(l.differ, n)
	}
	for _, d := range r.differ {
		l.differ[d.pod] = d.String()
	}
	return nil
}

// String returns the content of the file.
func (l *list) String() string {
	counts := map[string]int{}
	for _, why := range l.differ {
		name, _, _ := strings.Cut(why, "\n")
		counts[name]++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Which random pods look different to clients under the unmodified kubelet and under the node agent, and why: go run ./kubelet -update\n")
	fmt.Fprintf(&b, "# Seed %d, %d pods: %d are the same, %d differ, %d of them without a known reason.\n#\n",
		l.seed, l.pods, l.pods-len(l.differ), len(l.differ), counts[unexplained])
	for _, r := range reasons {
		if counts[r.name] > 0 {
			fmt.Fprintf(&b, "# %s (%d pods): %s\n", r.name, counts[r.name], r.why)
		}
	}
	b.WriteString("\n")
	for _, n := range slices.Sorted(maps.Keys(l.differ)) {
		fmt.Fprintf(&b, "p%d %s", n, l.differ[n])
	}
	return b.String()
}
