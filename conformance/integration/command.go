package integration

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// Main is a command that runs a suite. It prints a table of the results and exits with
// status 1 if they differ from the list.
func Main(s Suite, list verdict.List) {
	run := flag.String("run", "", "run only the tests whose names match this regular expression")
	folders := flag.String("folders", "", "run only the tests in these folders, separated by commas; folders outside of the suite are run too")
	update := flag.Bool("update", false, "write the results to "+list.Path)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	match, err := regexp.Compile(*run)
	if err == nil {
		if *folders != "" {
			s.Folders = strings.Split(*folders, ",")
		}
		list.Update = *update
		started := time.Now()
		err = s.Check(ctx, os.Stdout, match, list)
		fmt.Println(s.Name, "took", verdict.Round(time.Since(started)))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", s.Name, err)
		os.Exit(1)
	}
}

// Check runs the tests in the suite's folders whose names match and compares the results
// with those that the list has of them.
func (s Suite) Check(ctx context.Context, w io.Writer, match *regexp.Regexp, list verdict.List) error {
	results, err := s.Run(ctx, match)
	if err != nil {
		return err
	}
	list.Match = func(result string) bool { return s.Has(result) && match.MatchString(Function(result)) }
	return list.Check(w, results)
}

// Has reports whether a result is of a test in the suite's folders.
func (s Suite) Has(result string) bool { return slices.Contains(s.Folders, folderOf(Function(result))) }

// folderOf returns the folder of a test that Function has returned.
func folderOf(function string) string {
	folder, _, found := strings.Cut(function, "/Test")
	if !found {
		return "."
	}
	return folder
}
