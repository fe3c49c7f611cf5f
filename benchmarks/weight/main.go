package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// peers are the folders with the tests, in the order of the columns.
var peers = []string{"alone", "remote", "bubble", "envtest", "fakecluster"}

func main() {
	cold := flag.Bool("cold", false, "compile from an empty cache, too")
	edits := flag.Int("edits", 5, "how many edits are measured")
	flag.Parse()
	if err := run(os.Stdout, *cold, *edits); err != nil {
		fmt.Fprintln(os.Stderr, "weight:", err)
		os.Exit(1)
	}
}

// run measures both tests and writes a table.
func run(out io.Writer, cold bool, edits int) error {
	folder, err := os.MkdirTemp("", "weight")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	// Clusters of module remote are those of a program that is built before, as a developer has it.
	program := filepath.Join(folder, "fakecluster")
	build := exec.Command("go", "build", "-o", program, "./cmd/fakecluster")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	if err := os.Setenv("FAKECLUSTER", program); err != nil {
		return err
	}
	var measured []figures
	for _, peer := range peers {
		f, err := measure(filepath.Join(folder, peer), "./weight/"+peer, cold, edits)
		if err != nil {
			return fmt.Errorf("%s: %w", peer, err)
		}
		measured = append(measured, f)
	}
	_, err = io.WriteString(out, table(measured))
	return err
}

// figures are what was measured of a test.
type figures struct {
	packages       int           // outside of the standard library
	cold           time.Duration // processor time from an empty cache; 0: not measured
	link           time.Duration // processor time of the link as go test does it, without DWARF
	size           int64         // of the test binary that go test -c writes
	stripped       int64         // the same without DWARF
	edit, unvetted time.Duration // from an edit to the result, with and without go vet
}

// measure measures the test of a package. It writes files into the folder.
func measure(folder, pkg string, cold bool, edits int) (f figures, err error) {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return f, err
	}
	if f.packages, err = countPackages(pkg); err != nil {
		return f, err
	}
	binary := filepath.Join(folder, "greeter.test")
	if cold {
		// The first build of an empty cache also compiles the standard library.
		used, err := command([]string{"GOCACHE=" + filepath.Join(folder, "cache")}, "test", "-c", "-o", binary, pkg)
		if err != nil {
			return f, err
		}
		f.cold = used.UserTime() + used.SystemTime()
	}
	if _, err := command(nil, "test", "-c", "-o", binary, pkg); err != nil { // fills the cache
		return f, err
	}
	if f.size, err = sizeOf(binary); err != nil {
		return f, err
	}
	graph := filepath.Join(folder, "actions.json")
	var links []time.Duration
	for range 3 {
		if _, err := command(nil, "test", "-c", "-ldflags=-s -w", "-debug-actiongraph="+graph, "-o", binary, pkg); err != nil {
			return f, err
		}
		if f.stripped, err = sizeOf(binary); err != nil {
			return f, err
		}
		link, err := linkTime(graph)
		if err != nil {
			return f, err
		}
		links = append(links, link)
		if err := os.Remove(binary); err != nil { // otherwise it is not linked again
			return f, err
		}
	}
	f.link = median(links)
	if f.edit, err = editTime(folder, pkg, edits); err != nil {
		return f, err
	}
	f.unvetted, err = editTime(folder, pkg, edits, "-vet=off")
	return f, err
}

// command runs the go command, and returns what it and the commands that it runs have used.
func command(env []string, args ...string) (*os.ProcessState, error) {
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return c.ProcessState, nil
}

// countPackages returns how many packages outside of the standard library a test consists of.
func countPackages(pkg string) (int, error) {
	out, err := exec.Command("go", "list", "-deps", "-test", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", pkg).Output()
	if err != nil {
		return 0, err
	}
	packages := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(out)), "\n"), func(path string) bool {
		return strings.Contains(path, " [") || strings.HasSuffix(path, ".test") // those of the test itself
	})
	return len(packages), nil
}

func sizeOf(file string) (int64, error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// linkTime returns the processor time of the links in an action graph.
func linkTime(file string) (time.Duration, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var actions []struct {
		Mode            string
		CmdUser, CmdSys time.Duration
	}
	if err := json.Unmarshal(text, &actions); err != nil {
		return 0, err
	}
	var total time.Duration
	for _, a := range actions {
		if a.Mode == "link" {
			total += a.CmdUser + a.CmdSys
		}
	}
	if total == 0 {
		return 0, fmt.Errorf("nothing was linked")
	}
	return total, nil
}

// editTime edits the test again and again, and returns how long go test takes at least: what others do on the machine only adds to it.
// The edited file exists in an overlay only.
func editTime(folder, pkg string, edits int, args ...string) (time.Duration, error) {
	edited, err := filepath.Abs(filepath.Join(filepath.FromSlash(pkg), "edited_test.go"))
	if err != nil {
		return 0, err
	}
	file, overlay := filepath.Join(folder, "edited.go"), filepath.Join(folder, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{edited: file}})
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(overlay, text, 0o644); err != nil {
		return 0, err
	}
	var durations []time.Duration
	for range edits {
		text := fmt.Sprintf("package greeter_test\n\nvar edited = %d\n", time.Now().UnixNano())
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return 0, err
		}
		start := time.Now()
		// The linker drops the unused variable, so that go test would take the result of the test from its cache.
		if _, err := command(nil, slices.Concat([]string{"test", "-count=1", "-overlay", overlay}, args, []string{pkg})...); err != nil {
			return 0, err
		}
		durations = append(durations, time.Since(start))
	}
	return slices.Min(durations), nil
}

func median[T cmp.Ordered](values []T) T { return slices.Sorted(slices.Values(values))[len(values)/2] }

// table is a table in Markdown of the figures of the peers.
func table(measured []figures) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d processors, %s\n\n| a test with controller-runtime and | %s |\n|---|%s\n",
		runtime.NumCPU(), runtime.Version(), strings.Join(peers, " | "), strings.Repeat("---|", len(peers)))
	row := func(name, format string, figure func(figures) float64) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, f := range measured {
			fmt.Fprintf(&b, " "+format+" |", figure(f))
		}
		b.WriteString("\n")
	}
	row("packages outside the standard library", "%.0f", func(f figures) float64 { return float64(f.packages) })
	if measured[0].cold > 0 {
		row("compile and link from an empty cache, processor time", "%.0f s", func(f figures) float64 { return f.cold.Seconds() })
	}
	row("link, as go test does it, processor time", "%.1f s", func(f figures) float64 { return f.link.Seconds() })
	row("test binary of go test -c", "%.0f MB", func(f figures) float64 { return float64(f.size) / 1e6 })
	row("test binary of go test -c -ldflags='-s -w'", "%.0f MB", func(f figures) float64 { return float64(f.stripped) / 1e6 })
	row("from an edit to the result", "%.2f s", func(f figures) float64 { return f.edit.Seconds() })
	row("from an edit to the result, go test -vet=off", "%.2f s", func(f figures) float64 { return f.unvetted.Seconds() })
	return b.String()
}
