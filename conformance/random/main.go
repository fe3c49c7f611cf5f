// Command random plays random histories of requests on a real kube-apiserver and on fakecluster, and compares the answers: the status, the
// headers and the body of each request. From the folder conformance:
//
//	go run ./random                              # 20,000 requests
//	go run ./random -requests 1000000            # more of them
//	go run ./random -family builtin -only 17 -v  # one history, with all its answers
//	go run ./random -seed 2                      # other ones
//	go run ./random -record 5000                 # writes what the real server answers, which CI plays
//	go run ./random -emulated-version 1.35       # both servers emulate Kubernetes 1.35
//
// A history follows from its family, its number and the seed. Package generate makes it, package play plays it, and makes it shorter if the
// answers differ. The command fails if one differs without a reason; reasons.go has the reasons. The list random.txt has the histories that
// differed in the last run with -update.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

func main() {
	c := command{}
	flags := flag.NewFlagSet("random", flag.ExitOnError) // package seedtest has a flag -seed, too
	flags.IntVar(&c.requests, "requests", 20_000, "how `many` answers to compare")
	flags.Uint64Var(&c.seed, "seed", 1, "the `seed` of the histories")
	flags.IntVar(&c.first, "first", 0, "the `number` of the first history")
	flags.StringVar(&c.family, "family", "", "play one `family` only")
	flags.IntVar(&c.only, "only", -1, "play the history with this `number` only")
	flags.IntVar(&c.jobs, "jobs", 12, "how `many` histories are played at a time")
	flags.IntVar(&c.record, "record", 0, "record `many` exchanges of the real server for CI")
	flags.StringVar(&c.emulated, "emulated-version", "", "the `version` that both servers emulate; empty: their own")
	profile := flags.String("cpuprofile", "", "write a profile of this process to a `file`")
	flags.BoolVar(&c.update, "update", false, "write the histories that differ to the list")
	flags.BoolVar(&c.verbose, "v", false, "show all steps and answers")
	flags.BoolVar(&c.whole, "whole", false, "show differences as they are, and do not look for shorter histories")
	_ = flags.Parse(os.Args[1:]) // it ends the program
	if c.record > 0 {
		c.requests = c.record
	}
	if err := emulate(c.emulated); err != nil {
		fmt.Fprintln(os.Stderr, "random:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := profiled(*profile, func() error { return c.run(ctx, os.Stdout) }); err != nil {
		fmt.Fprintln(os.Stderr, "random:", err)
		os.Exit(1)
	}
}

// emulatedVariable is the variable with the version that fakecluster emulates. A process reads it when it starts.
const emulatedVariable = "FAKECLUSTER_EMULATED_VERSION"

// emulate starts this program again, in the place of this process, if fakecluster does not emulate the version here.
func emulate(version string) error {
	if os.Getenv(emulatedVariable) == version {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Setenv(emulatedVariable, version); err != nil {
		return err
	}
	return syscall.Exec(program, os.Args, os.Environ())
}

// profiled runs f, and writes a profile of it to a file, unless its name is empty.
func profiled(path string, f func() error) (err error) {
	if path == "" {
		return f()
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return f()
}
