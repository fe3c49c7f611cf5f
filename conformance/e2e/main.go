// Command e2e runs specs of Kubernetes' e2e suite against fakecluster, from the folder conformance:
//
//	go run ./e2e                     # without those that wait for minutes
//	go run ./e2e -full               # all of them
//	go run ./e2e -run 'Namespaces'   # those whose names match
//	go run ./e2e -full -update       # and write the results to e2e.txt
//	go run ./e2e -beyond             # the specs beyond conformance, whose list is e2e-beyond.txt
//
// It prints a table of the results and exits with status 1 if they differ from the list. The first build takes
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
	beyond := flag.Bool("beyond", false, "run the specs beyond conformance")
	update := flag.Bool("update", false, "write the results to the list")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx, *full, *beyond, *run, *update); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context, full, beyond bool, run string, update bool) error {
	match, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	began := time.Now()
	results, err := suite.Run(ctx, suite.Options{Match: match, Full: full, Beyond: beyond})
	if err != nil {
		return err
	}
	list := suite.List
	quick := list.Match
	list.Match = func(spec string) bool { return match.MatchString(spec) && (full || quick(spec)) }
	if beyond {
		list = suite.BeyondList
		list.Match = match.MatchString
	}
	list.Update = update
	err = list.Check(os.Stdout, results)
	fmt.Println("took", verdict.Round(time.Since(began)))
	return err
}
