package serve_test

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"github.com/fakecluster/fakecluster/conformance/serve"
)

// The test is the program, too: it prints the line in PRINTS, and at SIGTERM it exits with the code in EXITS.
func TestMain(m *testing.M) {
	line, isProgram := os.LookupEnv("PRINTS")
	if !isProgram {
		os.Exit(m.Run())
	}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	fmt.Println(line)
	<-terminated
	code, _ := strconv.Atoi(os.Getenv("EXITS"))
	os.Exit(code)
}

func TestStart(t *testing.T) {
	for _, c := range []struct{ rule, prints, exits, err, ended string }{
		{"a program that is ready runs until it is ended", "ready URL", "0", "", ""},
		{"one that fails at its end says so", "ready URL", "3", "", "serve.test: exit status 3"},
		{"one that prints something else is ended", "steady", "0", `serve.test printed "steady\n" as its first line, not ready and a URL`, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Setenv("PRINTS", c.prints)
			t.Setenv("EXITS", c.exits)
			url, end, err := serve.Start(t.Context(), os.Args[0])
			if text(err) != c.err {
				t.Fatalf("%q, want %q", text(err), c.err)
			}
			if err != nil {
				return
			}
			if url != "URL" {
				t.Errorf("the URL is %q", url)
			}
			if ended := text(end()); ended != c.ended {
				t.Errorf("at its end: %q, want %q", ended, c.ended)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
