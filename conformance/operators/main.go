// Command operators runs the tests of operators that others have written, unchanged and with the
// libraries that their own go.mod names, on the programs of `fakecluster envtest`. The tests start
// envtest's control plane, and KUBEBUILDER_ASSETS is all that they get. From the folder
// conformance:
//
//	go run ./operators                             # all of them, which takes an hour the first time
//	go run ./operators -only cluster-api/core/     # the folders whose names match
//	go run ./operators -update                     # and write the results to operators.txt
//	go run ./operators -remote                     # others, with older libraries, on clusters of module remote: remote.txt
//	go run ./operators -bubbles                    # suites in bubbles of module remote, which wait in virtual time: bubbles.txt
//
// It prints a table of the results and exits with status 1 if they differ from the list.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
)

func main() {
	only := flag.String("only", "", "run only the folders whose names match this regular expression")
	update := flag.Bool("update", false, "write the results to "+list.Path)
	remote := flag.Bool("remote", false, "run operators with older versions of controller-runtime, on clusters of module remote")
	bubbles := flag.Bool("bubbles", false, "run suites in bubbles, on clusters of module remote")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx, *only, *update, *remote, *bubbles); err != nil {
		fmt.Fprintln(os.Stderr, "operators:", err)
		os.Exit(1)
	}
}

// check compares the results with the list, or writes it.
func check(ctx context.Context, only string, update, remote, bubbles bool) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	list, run := list, run
	switch {
	case remote && bubbles:
		return errors.New("-remote and -bubbles are two lists: run one after the other")
	case remote:
		list, run = remoteList, runRemote
	case bubbles:
		list, run = bubblesList, runBubbles
	}
	results, err := run(ctx, os.Stdout, match)
	list.Match, list.Update = matches(match), update && err == nil
	return errors.Join(err, list.Check(os.Stdout, results))
}
