// Command e2e runs the conformance specs of Kubernetes' e2e suite against fakecluster, from the folder conformance:
//
//	go run ./e2e                     # without those that wait for minutes
//	go run ./e2e -full               # all of them
//	go run ./e2e -run 'Namespaces'   # those whose names match
//	go run ./e2e -full -update       # and write the results to e2e.txt
//
// It prints a table of the results and exits with status 1 if they differ from e2e.txt. The first build takes
// minutes; the binary is kept.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/fakecluster/fakecluster/conformance/e2e/suite"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

func main() {
	full := flag.Bool("full", false, "also run the specs that wait for minutes")
	run := flag.String("run", "", "run only the specs whose names match this regular `expression`")
	update := flag.Bool("update", false, "write the results to the list")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx, *full, *run, *update); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context, full bool, run string, update bool) error {
	match, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	began := time.Now()
	results, err := suite.Run(ctx, suite.Options{Match: match, Full: full})
	if err != nil {
		return err
	}
	list := suite.List
	list.Update = update
	quick := list.Match
	list.Match = func(spec string) bool { return match.MatchString(spec) && (full || quick(spec)) }
	err = list.Check(os.Stdout, results)
	fmt.Println("took", verdict.Round(time.Since(began)))
	return err
}
