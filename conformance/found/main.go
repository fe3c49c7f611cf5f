// Command found explores operators that others have written, by explore.FindOperator, and compares the findings with found.txt, which has a verdict
// for each. From the folder conformance:
//
//	go run ./found                   # all of them; builds each, which takes minutes
//	go run ./found -only jobset -v   # those in the folders whose names match, with the whole reports
//	go run ./found -update           # and write the results to found.txt
//	go run ./found -results DIR      # do not run them: read what they have written to the folder in FAKECLUSTER_FOUND
//	go run ./found -table            # the table of docs/explore-operator.md, of found.txt
//
// The operators are packages of the module in found/modules, whose go.mod has their versions. Some are upgraded, too, by explore.FindUpgrade. Former
// versions, and operators that cannot be imported, are copied to a folder that is not committed. The exit status is 1 if the findings differ from the list.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	listPath = "found.txt"
	modules  = "found/modules"
)

func main() {
	only := flag.String("only", "", "run only the operators in the folders of "+modules+" whose names match this regular expression")
	update := flag.Bool("update", false, "write the results to "+listPath)
	results := flag.String("results", "", "run nothing, and read the results of former runs from this `folder`")
	verbose := flag.Bool("v", false, "print the reports of the findings")
	printTable := flag.Bool("table", false, "print the table of the list, and run nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx, *only, *results, *update, *verbose, *printTable); err != nil {
		fmt.Fprintln(os.Stderr, "found:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context, only, results string, update, verbose, printTable bool) error {
	listed, err := readList(listPath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if printTable {
		fmt.Print(table(listed))
		return nil
	}
	var got []operator
	if results != "" {
		got, err = readResults(results)
	} else {
		got, err = run(ctx, only, verbose)
	}
	if err != nil {
		return err
	}
	differences := giveVerdicts(listed, got)
	fmt.Print(table(got))
	if update {
		return os.WriteFile(listPath, []byte(text(merge(listed, got))), 0o644)
	}
	if len(differences) > 0 {
		return fmt.Errorf("the findings differ from %s; -update writes it:\n  %s", listPath, strings.Join(differences, "\n  "))
	}
	return nil
}

// run explores the operators in the folders whose names match.
func run(ctx context.Context, only string, verbose bool) (explored []operator, err error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	tests, err := filepath.Glob(modules + "/*/*_test.go")
	if err != nil {
		return nil, err
	}
	// Without symbols a test is linked much faster.
	args := []string{"test", "-tags=" + copiedTag, "-p=1", "-count=1", "-vet=off", "-ldflags=-s -w", "-timeout=2h"}
	if verbose {
		args = append(args, "-v")
	}
	var folders []string
	for _, test := range tests {
		if folder := filepath.Base(filepath.Dir(test)); match.MatchString(folder) && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
			args = append(args, "./"+folder)
		}
	}
	if len(folders) == 0 {
		return nil, fmt.Errorf("no folder of %s matches %q", modules, only)
	}
	if err := copyModules(ctx, folders); err != nil {
		return nil, err
	}
	results, err := os.MkdirTemp("", "fakecluster-found-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(results)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = modules
	cmd.Env = append(os.Environ(), "GOWORK=off", "FAKECLUSTER_FOUND="+results)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return readResults(results)
}

// readResults reads the results in a folder.
func readResults(folder string) (operators []operator, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there are no results in %s", folder)
	}
	slices.Sort(files)
	for _, file := range files {
		o, err := readResult(file)
		if err != nil {
			return nil, err
		}
		operators = append(operators, o)
	}
	return operators, nil
}

// times is how often something happened, which depends on the goroutines of the operator.
var times = regexp.MustCompile(`\b[0-9]+ times`)

// readResult reads what the package explored of the module writes.
func readResult(path string) (o operator, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return o, err
	}
	var result struct {
		Operator, Module, Version string
		Trials, Rejected          int
		Seconds                   float64
		Findings                  []struct{ Oracle, What, Trial string }
	}
	if err := json.Unmarshal(content, &result); err != nil {
		return o, fmt.Errorf("%s: %w", path, err)
	}
	o = operator{name: result.Operator, module: result.Module, version: result.Version, trials: result.Trials, rejected: result.Rejected,
		perSecond: float64(result.Trials+result.Rejected) / result.Seconds}
	for _, f := range result.Findings {
		what, _, _ := strings.Cut(f.What, "\n")
		what = times.ReplaceAllString(what, "many times")
		o.findings = append(o.findings, finding{oracle: f.Oracle, what: what, trial: f.Trial})
	}
	return o, nil
}
