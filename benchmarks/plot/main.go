package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

func main() {
	from := flag.String("from", "", "read the results from this file instead of measuring")
	turns := flag.Int("turns", 300, "how many turns each operation takes; a list takes a twentieth of them")
	page := flag.String("page", filepath.Join("..", "docs", "performance.md"), "the file whose tables are written anew")
	flag.Parse()
	if err := run(os.Stdout, *from, *turns, *page); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, from string, turns int, page string) error {
	var text []byte
	var err error
	if from != "" {
		text, err = os.ReadFile(from)
	} else if text, err = measure(turns); err == nil {
		err = os.WriteFile("results.txt", text, 0o644)
	}
	if err != nil {
		return err
	}
	r, err := parse(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if err := draw(r, "life.svg", "life.png"); err != nil {
		return err
	}
	tables := r.tables()
	if err := replaceBetweenMarkers(page, tables); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n%s", tables, r.verdicts())
	return err
}

// measure runs the benchmarks that are shown, and returns what go test prints.
func measure(turns int) ([]byte, error) {
	folder, err := os.MkdirTemp("", "life")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "life.test")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if _, err := output("go", "test", "-c", "-o", binary, "."); err != nil {
		return nil, err
	}
	commit, err := output("git", "log", "-1", "--format=%h (%s)")
	if err != nil {
		return nil, err
	}
	lines := fmt.Appendf(nil, "%son %s at %s", measuredPrefix, time.Now().Format(time.DateOnly), commit)
	for _, part := range []struct {
		bench string
		turns int
	}{
		{"^BenchmarkLife$/./^[^l]", turns}, // all but list, which takes a thousand times longer
		{"^BenchmarkLife$/./^list$", max(turns/20, 5)},
		{"^BenchmarkReconcile$", turns},
	} {
		text, err := output(binary, "-test.run", "^$", "-test.bench", part.bench, "-test.benchtime", fmt.Sprintf("%dx", part.turns))
		if err != nil {
			return nil, err
		}
		lines = append(lines, text...)
	}
	return lines, nil
}

// output returns what a command prints, and shows it on stderr meanwhile.
func output(name string, args ...string) ([]byte, error) {
	var text bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&text, os.Stderr), os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %q: %w", filepath.Base(name), args, err)
	}
	return text.Bytes(), nil
}
