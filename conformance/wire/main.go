// Command wire makes the same 20,000 requests and more of a real kube-apiserver and of fakecluster, and compares
// the answers byte by byte: the status, the headers and the body, except what differs between any two
// servers, such as uids and times. From the folder conformance:
//
//	go run ./wire                            # compares the result with the list, some minutes
//	go run ./wire -only 'v1 configmaps' -show # the answers that differ of some requests
//	go run ./wire -only '^flows of pods' -answers # what the real server answers
//	go run ./wire -update                    # writes the list
//	go run ./wire -emulated-version 1.35     # compares servers that emulate Kubernetes 1.35, with a list of its own
//	go run ./wire -older 1.35                # compares a real kube-apiserver of 1.35 with fakecluster as 1.35, and with one that emulates 1.35
//	go run ./wire -seeds                     # writes the seeds of the fuzz targets in ../rest, without a real server
//
// They run as envtest runs them: kube-apiserver and etcd as package real builds them, and those of
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
	"time"

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
	Comment: `The requests that fakecluster answers in another way than a real kube-apiserver. All others of
"go run ./wire", which writes this with -update, are answered alike. The first line that differs follows:
"-" is the real server, "+" fakecluster. The causes: a program that is built from modules has no commit and
no date; a definition without objects ends at once; a list of objects of which one cannot be read says so at
once, while the cache of a real server cannot begin and has its clients come again later.
Which of several bindings a review names, how far a definition has got with its end, whether the condition
of a new FlowSchema or APIService is there yet, the order in YAML of component statuses and of managed fields
of one second, and whether a watch of one second ends with a bookmark, is a matter of chance on a real server:
some five lines come and go, and more on a busy machine.`,
}

func main() {
	emulated := flag.String("emulated-version", "", "the `version` that both servers emulate, whose list is wire-VERSION.txt; empty: their own")
	older := flag.String("older", "", "the `version` of an older real server, whose list is wire-older-VERSION.txt; empty: none")
	only := flag.String("only", "", "make only the requests whose resource and name this regular `expression` matches")
	update := flag.Bool("update", false, "write the results to the list instead of comparing them")
	show := flag.Bool("show", false, "show how answers differ")
	answers := flag.Bool("answers", false, "show all answers of the real server")
	seeds := flag.Bool("seeds", false, "make the requests of fakecluster alone, and write those that fuzz targets begin with")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c := comparison{list: list, update: *update, show: *show, answers: *answers}
	do := func() error { return c.run(ctx, os.Stdout, *only) }
	switch {
	case *emulated != "" && *older != "":
		do = func() error { return errors.New("-emulated-version and -older exclude each other") }
	case *emulated != "":
		c.emulates(*emulated)
	case *older != "":
		c.isOlder(*older)
	default:
		c.servers = []server{{"the real server", realPrograms, nil}, {"fakecluster", ours(), nil}}
	}
	if *seeds {
		do = func() error { return writeSeeds(ctx, seedsFile) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "wire:", err)
		os.Exit(1)
	}
}

// server is one of those that are compared.
type server struct {
	name   string
	folder func(ctx context.Context, work string) (string, error) // of its programs
	flags  map[string]string                                      // of kube-apiserver
}

func realPrograms(ctx context.Context, _ string) (string, error) {
	return programs.Folder(ctx, "real/modules", programs.APIServer, programs.Etcd)
}

// ours returns the folder that "fakecluster envtest" prints with the flags.
func ours(flags ...string) func(ctx context.Context, work string) (string, error) {
	return func(ctx context.Context, work string) (string, error) { return dropin.Assets(ctx, work, flags...) }
}

// startTimeout is for a busy machine.
const startTimeout = 5 * time.Minute

// comparison says what is compared.
type comparison struct {
	servers               []server // the first is what the others are compared with
	list                  verdict.List
	update, show, answers bool
}

// emulates compares fakecluster with the real server, both of which emulate a version.
func (c *comparison) emulates(version string) {
	emulated := map[string]string{"emulated-version": version}
	c.servers = []server{{"the real server", realPrograms, emulated}, {"fakecluster", ours(), emulated}}
	c.list.Path = "wire-" + version + ".txt"
}

// isOlder compares the real server of an older version with fakecluster as this version, and with the newest real server, which emulates it.
func (c *comparison) isOlder(version string) {
	old := func(ctx context.Context, _ string) (string, error) {
		return programs.Older(ctx, "real/modules", version)
	}
	c.servers = []server{
		{"the old server", old, nil},
		{"fakecluster", ours("--kubernetes-version", version), nil},
		{"the emulating server", realPrograms, map[string]string{"emulated-version": version}},
	}
	c.list = verdict.List{Path: "wire-older-" + version + ".txt", Comment: olderComment}
}

// reason returns the text of the list for a request.
func (c *comparison) reason(one exchange.Comparison) string {
	if len(c.servers) == 3 {
		return olderReason(one)
	}
	return verdict.Reason(exchange.First(one.Differences[0]))
}

// run makes the requests that the expression matches.
func (c *comparison) run(ctx context.Context, w io.Writer, only string) (err error) {
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
	work, err := os.MkdirTemp("", "wire-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var running []*rest.Config
	for _, s := range c.servers {
		folder, err := s.folder(ctx, work)
		if err != nil {
			return err
		}
		environment := &envtest.Environment{BinaryAssetsDirectory: folder, ControlPlaneStartTimeout: startTimeout}
		for name, value := range s.flags {
			environment.ControlPlane.GetAPIServer().Configure().Set(name, value)
		}
		cfg, err := environment.Start()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, environment.Stop()) }()
		running = append(running, cfg)
	}
	requests, err := requests(running[0])
	if err != nil {
		return err
	}
	var compared []exchange.Comparison
	for _, some := range [][]exchange.Request{requests, fromStories} { // the lists of the first have nothing of the second
		more, err := exchange.Compare(ctx, running, some, matches.MatchString)
		if err != nil {
			return err
		}
		compared = append(compared, more...)
	}
	return c.report(w, compared, matches)
}

// report shows what differs, and compares it with the list.
func (c *comparison) report(w io.Writer, compared []exchange.Comparison, matches *regexp.Regexp) error {
	var different []verdict.Result
	counts := make([]int, len(c.servers))
	for _, one := range compared {
		if c.answers {
			fmt.Fprintf(w, "%s\n%s\n\n", one.Request, one.Answer)
		}
		for i, difference := range one.Differences {
			if difference != "" {
				counts[i+1]++
			}
			if c.show && difference != "" {
				fmt.Fprintf(w, "%s: %s\n%s %s\n%s\n%s\n", c.servers[i+1].name, one.Request, one.Request.Method, one.Request.Path, one.Request.Body, difference)
			}
		}
		if one.Differences[0] != "" {
			different = append(different, verdict.Result{Name: one.Request.String(), Verdict: verdict.Fail, Reason: c.reason(one)})
		}
	}
	for i, s := range c.servers[1:] {
		fmt.Fprintf(w, "%d requests, %s answers %d in another way\n", len(compared), s.name, counts[i+1])
	}
	if len(c.servers) == 3 {
		countReasons(w, compared)
	}
	c.list.Match = matches.MatchString
	c.list.Update = c.update
	return c.list.Check(w, different)
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
