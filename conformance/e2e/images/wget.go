package images

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/fakecluster/fakecluster/workloads"
)

// wget writes what an address answers to a GET or a POST request to a file named as the end of the path, or index.html, or with -O- to
// stdout.
func wget(ctx context.Context, c *workloads.ExecCommand) error {
	flags := flag.NewFlagSet("wget", flag.ContinueOnError)
	flags.SetOutput(c.Stderr)
	data := flags.String("post-data", "", "")
	toStdout := flags.Bool("O-", false, "")
	quiet := flags.Bool("q", false, "")
	if err := flags.Parse(c.Args[1:]); err != nil || flags.NArg() != 1 {
		return workloads.Exit(1)
	}
	fail := func(format string, args ...any) error {
		fmt.Fprintf(c.Stderr, "wget: "+format+"\n", args...)
		return workloads.Exit(1)
	}
	say := func(format string, args ...any) {
		if !*quiet {
			fmt.Fprintf(c.Stderr, format+"\n", args...)
		}
	}
	method, body, address := http.MethodGet, io.Reader(http.NoBody), flags.Arg(0)
	if *data != "" {
		method, body = http.MethodPost, strings.NewReader(*data)
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	r, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return fail("bad address '%s'", flags.Arg(0))
	}
	say("Connecting to %s", r.URL.Host)
	client := c.Container.HTTPClient()
	defer client.CloseIdleConnections()
	response, err := client.Do(r)
	if err != nil {
		return fail("%v", err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		return fail("server returned error: HTTP/1.1 %s", response.Status)
	}
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fail("%v", err)
	}
	if *toStdout {
		_, err := c.Stdout.Write(answer)
		return err
	}
	name := path.Base(r.URL.Path)
	if name == "." || name == "/" {
		name = "index.html"
	}
	if err := c.Container.WriteFile(name, answer, 0o644); err != nil {
		return fail("%v", err)
	}
	say("'%s' saved", name)
	return nil
}
