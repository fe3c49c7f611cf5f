// Package suite runs upstream's integration suite for CustomResourceDefinitions, the
// tests in k8s.io/apiextensions-apiserver/test/integration, against fakecluster.
//
// The tests start their servers through one file of upstream's, fixtures/server.go.
// The suite copies upstream's module, puts our fixture in the place of that file, and
// changes nothing else. Each test then runs in a process of its own, so that one that
// hangs or panics says nothing about the others.
package suite

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fakecluster/fakecluster/conformance/gotool"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// folders are the parts of upstream's suite. A test is named by its function, and
// beneath test/integration by its folder too: conversion/TestWebhookConverter.
var folders = []string{".", "conversion", "storage"}

// testTimeout ends a test that hangs. The longest of those that pass takes less than
// half of it on two busy cores. Upstream waits for 30 s for most things: a multiple of
// that would let chance decide between a failure and a timeout.
const testTimeout = 75 * time.Second

// Run runs the tests whose names match and returns their results by name: one for
// each test function, and beneath one that failed one for each of its subtests that
// did not pass.
func Run(ctx context.Context, match *regexp.Regexp) ([]verdict.Result, error) {
	upstream, err := listModule(ctx, upstreamPath)
	if err != nil {
		return nil, err
	}
	ours, err := listModule(ctx, ourPath)
	if err != nil {
		return nil, err
	}
	copied, err := copyUpstream(upstream)
	if err != nil {
		return nil, fmt.Errorf("copying %s: %w", upstreamPath, err)
	}
	work, err := os.MkdirTemp("", "fakecluster-upstream-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	modFile, err := writeModFile(ctx, work, copied, ours)
	if err != nil {
		return nil, fmt.Errorf("making a go.mod: %w", err)
	}
	var tests []test
	for _, folder := range folders {
		dir := filepath.Join(copied, "test/integration", folder)
		// The name that the go command gives it: the user agent of the tests' clients
		// begins with it, and one test looks for that.
		binary := filepath.Join(work, filepath.Base(dir)+".test")
		found, err := buildTests(ctx, dir, modFile, folder, binary)
		if err != nil {
			return nil, fmt.Errorf("building the tests in %s: %w", folder, err)
		}
		tests = append(tests, found...)
	}
	tests = slices.DeleteFunc(tests, func(t test) bool { return !match.MatchString(t.String()) })
	results, err := runAll(ctx, tests)
	slices.SortFunc(results, func(a, b verdict.Result) int { return cmp.Compare(a.Name, b.Name) })
	return results, err
}

// test is a test function in a test binary.
type test struct {
	folder string // of folders
	dir    string // where it expects to be run, beside its files
	binary string
	name   string
}

func (t test) String() string {
	if t.folder == "." {
		return t.name
	}
	return t.folder + "/" + t.name
}

// Function returns the test, as String names it, that a result belongs to: the result of
// conversion/TestA/subtest belongs to conversion/TestA.
func Function(result string) string {
	start := strings.Index(result, "Test")
	if end := strings.Index(result[start:], "/"); end >= 0 {
		return result[:start+end]
	}
	return result
}

// buildTests builds the test binary of a folder and returns the tests in it.
func buildTests(ctx context.Context, dir, modFile, folder, binary string) ([]test, error) {
	if _, err := gotool.Output(ctx, dir, "test", "-c", "-mod=mod", "-modfile="+modFile, "-o", binary, "."); err != nil {
		return nil, err
	}
	if _, err := os.Stat(binary); os.IsNotExist(err) {
		return nil, nil // there are no tests in the folder
	}
	out, err := command(ctx, dir, binary, "-test.list", "^Test").Output()
	if err != nil {
		return nil, fmt.Errorf("listing them: %w", err)
	}
	var tests []test
	for _, name := range strings.Fields(string(out)) {
		tests = append(tests, test{folder: folder, dir: dir, binary: binary, name: name})
	}
	return tests, nil
}

// runAll runs tests, two for each core: most of them wait most of the time.
func runAll(ctx context.Context, tests []test) ([]verdict.Result, error) {
	var (
		mu      sync.Mutex
		results []verdict.Result
		failed  error
		wg      sync.WaitGroup
		next    = make(chan test)
	)
	for range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for t := range next {
				got, err := t.run(ctx)
				mu.Lock()
				results = append(results, got...)
				failed = cmp.Or(failed, err)
				mu.Unlock()
			}
		})
	}
	for _, t := range tests {
		next <- t
	}
	close(next)
	wg.Wait()
	return results, failed
}

// List is the list that results are compared with, seen from the folder conformance.
var List = verdict.List{
	Path: "upstream.txt",
	Comment: `Upstream's integration suite for CustomResourceDefinitions against fakecluster:
every test, and of those that fail every subtest that does not pass.
Written by "go run ./upstream -update"; how to read it: README.md.`,
}
