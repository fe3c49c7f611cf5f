package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/remote"
	"github.com/fakecluster/fakecluster/internal/scenario/rewrite"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
	"github.com/fakecluster/fakecluster/kustomize"
	"github.com/fakecluster/fakecluster/workloads"
)

// errFailed is returned if scenarios were played and failed. It is not printed: the log shows the
// failures, and its last line is the summary.
var errFailed = errors.New("scenarios failed")

// playing are the flags of run.
type playing struct {
	run             string
	reports         []string
	quiet, verbose  bool
	update          bool
	parallel        int
	crds, manifests []string
	kustomize       []string
	kubeconfig      string
	grace           time.Duration
	changesAll      bool
}

// gcPercent is by how much the heap of run may grow before it is collected. The process is short
// and its clusters are garbage soon, so that collecting them often is time lost.
const gcPercent = 400

func runCommand() *cobra.Command {
	var f playing
	cmd := &cobra.Command{
		Use:   "run [flags] PATH...",
		Short: "Play scenario files",
		Long:  runManual(),
		Example: `  fakecluster run scenarios/
  fakecluster run --run 'Deployment|Job' 'scenarios/*/create*.yaml'
  fakecluster run --crds config/crd testdata/scenarios
  fakecluster run -q --report junit results.xml scenarios/`,
		Args: func(_ *cobra.Command, paths []string) error {
			if len(paths) == 0 {
				return errors.New("run: no scenarios given; name a file, a folder or a glob")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, paths []string) error { return f.play(cmd, paths) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.run, "run", "", "play only scenarios whose FILE/NAME or FILE/NAME/CASE matches this regular expression")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show only failures and the last line")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show every scenario, and what it has written to its log")
	flags.IntVar(&f.parallel, "parallel", 0, "how many scenarios are played at the same time (default: as many as there are processors)")
	flags.StringArrayVar(&f.crds, "crds", nil, `a file or folder of CustomResourceDefinitions that each cluster begins with; other kinds in it
are ignored; may be repeated`)
	flags.StringArrayVar(&f.manifests, "manifests", nil, `a file or folder of manifests that each cluster begins with, which are created in the order
that installing needs; may be repeated`)
	flags.StringArrayVar(&f.kustomize, "kustomize", nil, `a folder with a kustomization that each cluster begins with, which is built and installed as by
kubectl apply -k; may be repeated`)
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", `play them on the cluster of this kubeconfig, in namespaces and groups of their own that are
deleted afterwards; what that cluster cannot do is skipped, and a write that may change anything else fails`)
	flags.BoolVar(&f.changesAll, "allow-cluster-changes", false, `with --kubeconfig: let scenarios change what is not their own, such as ClusterRoles or objects
in kube-system; for a cluster that you can throw away afterwards`)
	flags.DurationVar(&f.grace, "grace", 0, `with --kubeconfig: how long a step may take until its answer is the expected one, because a real
cluster finishes much of its work after the write (default 10s)`)
	flags.BoolVar(&f.update, "update", false, `rewrite the expectations of scenarios that fail, in their files, to what the cluster
answers; comments, order and layout stay. Look at the difference before you keep it`)
	flags.StringArrayVar(&f.reports, "report", nil, "write the results to a file, too (`junit FILE`, json FILE; also junit=FILE); may be repeated")
	return cmd
}

// formats are those of --report.
var formats = map[string]func(io.Writer, []player.Result) error{"junit": player.WriteJUnit, "json": player.WriteJSON}

// check returns the mistakes in the flags.
func (f *playing) check() error {
	if f.quiet && f.verbose {
		return usageError{errors.New("run: --quiet and --verbose exclude each other")}
	}
	if f.parallel < 0 {
		return usageError{fmt.Errorf("run: --parallel: must not be negative, and is %d", f.parallel)}
	}
	if f.kubeconfig != "" && len(f.crds)+len(f.manifests)+len(f.kustomize) > 0 {
		return usageError{errors.New("run: --crds, --manifests and --kustomize are for clusters in this process; install them in the cluster of --kubeconfig before")}
	}
	if f.grace < 0 || f.grace > 0 && f.kubeconfig == "" {
		return usageError{errors.New("run: --grace is a duration such as 10s, and needs --kubeconfig: clusters in this process finish their work within the write")}
	}
	if f.changesAll && f.kubeconfig == "" {
		return usageError{errors.New("run: --allow-cluster-changes needs --kubeconfig: a cluster in this process belongs to its scenario")}
	}
	for _, report := range f.reports {
		if format, path, _ := strings.Cut(report, "="); formats[format] == nil || path == "" {
			return usageError{fmt.Errorf("run: --report takes junit FILE or json FILE, not %s", strings.Replace(report, "=", " ", 1))}
		} else if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
			return usageError{fmt.Errorf("run: --report would overwrite %s, which looks like a scenario file", path)}
		} else if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return fmt.Errorf("run: --report: %w", err)
		}
	}
	return nil
}

// player returns what plays the scenarios: in this process, or on the cluster of --kubeconfig.
func (f *playing) player(ctx context.Context) (player.Player, error) {
	options := []fakecluster.Option{fakecluster.WithCRDPaths(f.crds...), fakecluster.WithManifests(f.manifests...)}
	for _, folder := range f.kustomize {
		objects, err := kustomize.Build(folder)
		if err != nil {
			return player.Player{}, fmt.Errorf("run: --kustomize: %w", err)
		}
		options = append(options, fakecluster.WithObjects(objects...))
	}
	p := player.Player{
		Parallel: f.parallel, Bubble: bubbles(ctx), Live: workloads.FromYAML, Start: player.InProcessWith(options...),
		Explanation: player.Explanation{Findings: os.Getenv(printsFindings) != "", Folder: os.Getenv(reportFolder)},
	}
	if f.kubeconfig == "" {
		return p, nil
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	if err != nil {
		return p, fmt.Errorf("run: --kubeconfig: %w", err)
	}
	var may []remote.Option
	if f.changesAll {
		may = append(may, remote.AllowClusterChanges())
	}
	p.Start, p.Remote, p.Grace = remote.NewStarter(cfg, may...), true, f.grace
	return p, nil
}

func (f *playing) play(cmd *cobra.Command, paths []string) error {
	if err := f.check(); err != nil {
		return err
	}
	reader := syntax.Reader{Kustomize: kustomize.Build}
	loaded, err := reader.Load(paths...)
	if err != nil {
		return fmt.Errorf("run: nothing was played:\n%w", err)
	}
	if loaded, err = f.chosen(loaded); err != nil {
		return err
	}
	// Libraries log refused requests. A scenario has the refusals that it expects, so the
	// log is dropped.
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
	debug.SetGCPercent(gcPercent)
	reporter := player.NewReporter(cmd.OutOrStdout())
	reporter.Quiet, reporter.Verbose = f.quiet, f.verbose
	if isTerminal(cmd.OutOrStdout()) {
		reporter.Progress = len(loaded)
	}
	var results []player.Result
	with, err := f.player(cmd.Context())
	if err != nil {
		return err
	}
	report := func(r player.Result) {
		reporter.Report(r)
		results = append(results, r)
	}
	if f.update {
		rewritten, err := rewrite.Update(cmd.Context(), reader, with, loaded, report)
		if err != nil {
			return fmt.Errorf("run: --update: %w", err)
		}
		for _, line := range rewritten {
			fmt.Fprintln(cmd.OutOrStdout(), "rewritten", line)
		}
	} else {
		with.PlayAll(cmd.Context(), loaded, report)
	}
	passed := reporter.Summary()
	for _, report := range f.reports {
		if err := writeReport(cmd.Context(), report, results); err != nil {
			return fmt.Errorf("run: --report: %w", err)
		}
	}
	if !passed {
		return errFailed
	}
	return nil
}

// writeReport writes results in the format and to the file of FORMAT=FILE. The file may be a FIFO, as >(command) of bash is one, which a process has to read.
func writeReport(ctx context.Context, report string, results []player.Result) error {
	format, path, _ := strings.Cut(report, "=")
	var text bytes.Buffer
	if err := formats[format](&text, results); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o644)
	if errors.Is(err, syscall.ENXIO) {
		return fmt.Errorf("%s is a FIFO that nobody reads: start its reader before, or name a file", path)
	} else if err != nil {
		return err
	}
	// A reader that does not read does not keep the process from ending.
	defer context.AfterFunc(ctx, func() { _ = file.SetWriteDeadline(time.Now().Add(lastWrite)) })()
	_, err = text.WriteTo(file)
	return errors.Join(err, file.Close())
}

// lastWrite is how long a report may take to be written after the command was interrupted.
const lastWrite = 2 * time.Second

// withReports returns the arguments of run with "--report FORMAT FILE" as "--report FORMAT=FILE",
// because a flag takes one argument.
func withReports(args []string) []string {
	if len(args) == 0 || args[0] != "run" {
		return args
	}
	var names []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(names, args[i:]...)
		}
		if format, given := strings.CutPrefix(args[i], "--report="); given && formats[format] != nil && i+1 < len(args) {
			names = append(names, args[i]+"="+args[i+1])
			i++
			continue
		}
		names = append(names, args[i])
		if args[i] == "--report" && i+2 < len(args) && formats[args[i+1]] != nil {
			names = append(names, args[i+1]+"="+args[i+2])
			i += 2
		}
	}
	return names
}

// chosen returns the scenarios that --run selects.
func (f *playing) chosen(loaded []*syntax.Scenario) ([]*syntax.Scenario, error) {
	if f.run == "" {
		return loaded, nil
	}
	pattern, err := regexp.Compile(f.run)
	if err != nil {
		return nil, usageError{fmt.Errorf("run: --run: %w", err)}
	}
	loaded = slices.DeleteFunc(loaded, func(s *syntax.Scenario) bool {
		name := filepath.ToSlash(s.File) + "/" + s.Name
		if s.Case != "" {
			name += "/" + s.Case
		}
		return !pattern.MatchString(name)
	})
	if len(loaded) == 0 {
		return nil, fmt.Errorf("run: no scenario matches %s", f.run)
	}
	return loaded, nil
}

// isTerminal reports whether the output is a terminal.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func runManual() string {
	var b strings.Builder
	b.WriteString(`Play the scenarios in files, in folders with all that is below them, and in what
globs match, each on a cluster of its own in this process.

Each scenario that passes is a line (on a terminal only with -v, where one line
shows the progress), one that fails shows the step's file and line, the object
and the difference in YAML (-want +got). The last line is "N passed, N failed".
The exit status is 0 if all passed. If a path or a scenario has a mistake in it,
nothing is played. Scenarios that wait are played in virtual time.

A scenario has a name (scenario:), maybe a setup (manifests to create), and
steps. A step is one request, with expect: (what the answer has, as a subset)
or error: (the expected error):

`)
	for _, s := range syntax.StepDocs() {
		fmt.Fprintf(&b, "  %-17s %s\n", s.Name+":", s.Argument)
	}
	b.WriteString(`
The complete manual: go doc github.com/fakecluster/fakecluster/scenarios`)
	return b.String()
}
