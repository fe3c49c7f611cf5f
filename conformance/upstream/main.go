// Command upstream runs upstream's integration suite for CustomResourceDefinitions
// against fakecluster, from the folder conformance:
//
//	go run ./upstream                          # all of it
//	go run ./upstream -run TestTable           # the tests whose names match
//	go run ./upstream -update                  # and write the results to upstream.txt
//
// It prints a table of the results and exits with status 1 if they differ from
// upstream.txt.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/fakecluster/fakecluster/conformance/upstream/suite"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

func main() {
	run := flag.String("run", "", "run only the tests whose names match this regular expression")
	update := flag.Bool("update", false, "write the results to upstream.txt")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx, *run, *update); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context, run string, update bool) error {
	match, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	started := time.Now()
	results, err := suite.Run(ctx, match)
	if err != nil {
		return err
	}
	list := suite.List
	list.Match = func(name string) bool { return match.MatchString(suite.Function(name)) }
	list.Update = update
	defer func() { fmt.Println("upstream took", verdict.Round(time.Since(started))) }()
	return list.Check(os.Stdout, results)
}
