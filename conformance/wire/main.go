// Command wire makes the same 20,000 requests and more of a real kube-apiserver and of fakecluster, and compares
// the answers byte by byte: the status, the headers and the body, except what differs between any two
// servers, such as uids and times. From the folder conformance:
//
//	go run ./wire                            # compares the result with the list, some minutes
//	go run ./wire -only 'v1 configmaps' -show # the answers that differ of some requests
//	go run ./wire -only '^flows of pods' -answers # what the real server answers
//	go run ./wire -update                    # writes the list
//	go run ./wire -emulated-version 1.35     # compares servers that emulate Kubernetes 1.35, with a list of its own
//	go run ./wire -seeds                     # writes the seeds of the fuzz targets in ../rest, without a real server
//
// Both run as envtest runs them: kube-apiserver and etcd as package real builds them, and those of
// "fakecluster envtest". For each kind of discovery there are reads in every form, some 200 requests
// with mistakes, and the life of an object, which Kubernetes' own test of stored objects describes.
// Package stories has what clients do with custom resources and the most used kinds.
// The list wire.txt has the requests that are answered in another way, and why.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"

	"github.com/go-logr/logr"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	dropin "github.com/fakecluster/fakecluster/conformance/envtest"
	"github.com/fakecluster/fakecluster/conformance/real/programs"
	"github.com/fakecluster/fakecluster/conformance/verdict"
	"github.com/fakecluster/fakecluster/conformance/wire/exchange"
	"github.com/fakecluster/fakecluster/conformance/wire/stories"
)

// list has what is answered in another way. Requests that are answered alike are not in it.
var list = verdict.List{
	Path: "wire.txt",
	Comment: `The requests that fakecluster answers in another way than a real kube-apiserver 1.37.1. All others of
"go run ./wire", which writes this with -update, are answered alike. The first line that differs follows:
"-" is the real server, "+" fakecluster. The causes: a definition without objects ends at once; a list of
objects of which one cannot be read says so at once, while the cache of a real server cannot begin and
has its clients come again later.
Which of several bindings a review names, how far a definition has got with its end, whether the condition
of a new FlowSchema is there yet, and the order of component statuses in YAML, is a matter of chance on a
real server: some five lines come and go.`,
}

func main() {
	emulated := flag.String("emulated-version", "", "the `version` that both servers emulate, whose list is wire-VERSION.txt; empty: their own")
	only := flag.String("only", "", "make only the requests whose resource and name this regular `expression` matches")
	update := flag.Bool("update", false, "write the results to the list instead of comparing them")
	show := flag.Bool("show", false, "show how answers differ")
	answers := flag.Bool("answers", false, "show all answers of the real server")
	seeds := flag.Bool("seeds", false, "make the requests of fakecluster alone, and write those that fuzz targets begin with")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	do := func() error { return run(ctx, os.Stdout, *emulated, *only, *update, *show, *answers) }
	if *seeds {
		do = func() error { return writeSeeds(ctx, seedsFile) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "wire:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, emulated, only string, update, show, answers bool) (err error) {
	matches, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	fromStories, err := stories.All()
	if err != nil {
		return err
	}
	crlog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	real, err := programs.Folder(ctx, "real/modules")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "wire-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	ours, err := dropin.Assets(ctx, work)
	if err != nil {
		return err
	}
	var servers [2]*rest.Config
	for i, folder := range []string{real, ours} {
		environment := &envtest.Environment{BinaryAssetsDirectory: folder}
		if emulated != "" {
			environment.ControlPlane.GetAPIServer().Configure().Set("emulated-version", emulated)
		}
		if servers[i], err = environment.Start(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, environment.Stop()) }()
	}
	requests, err := requests(servers[0])
	if err != nil {
		return err
	}
	var compared []exchange.Comparison
	for _, some := range [][]exchange.Request{requests, fromStories} { // the lists of the first have nothing of the second
		c, err := exchange.Compare(ctx, servers[0], servers[1], some, matches.MatchString)
		if err != nil {
			return err
		}
		compared = append(compared, c...)
	}
	var different []verdict.Result
	for _, c := range compared {
		if answers {
			fmt.Fprintf(w, "%s\n%s\n\n", c.Request, c.Answer)
		}
		if c.Difference == "" {
			continue
		}
		if show {
			fmt.Fprintf(w, "%s\n%s %s\n%s\n%s\n", c.Request, c.Request.Method, c.Request.Path, c.Request.Body, c.Difference)
		}
		different = append(different, verdict.Result{Name: c.Request.String(), Verdict: verdict.Fail, Reason: verdict.Reason(c.First())})
	}
	fmt.Fprintf(w, "%d requests, %d are answered in another way\n", len(compared), len(different))
	if emulated != "" {
		list.Path = "wire-" + emulated + ".txt"
	}
	list.Match = matches.MatchString
	list.Update = update
	return list.Check(w, different)
}

// requests returns the requests for all that the server describes.
func requests(cfg *rest.Config) ([]exchange.Request, error) {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	return exchange.Requests(lists), nil
}
