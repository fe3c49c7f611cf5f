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
	"github.com/fakecluster/fakecluster/internal/collector"
	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/remote"
	"github.com/fakecluster/fakecluster/internal/scenario/rewrite"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
	"github.com/fakecluster/fakecluster/kustomize"
	"github.com/fakecluster/fakecluster/workloads"
)

// errFailed is the error of run if scenarios failed. It is not printed, because the log already shows the
// failures and a summary.
var errFailed = errors.New("scenarios failed")

// runFlags has the flags of run.
type runFlags struct {
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

func runCommand() *cobra.Command {
	var f runFlags
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
				return errors.New("run: no scenarios given; give a file, a folder or a glob")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, paths []string) error { return f.play(cmd, paths) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.run, "run", "", "play only scenarios whose FILE/NAME or FILE/NAME/CASE matches this regular expression")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show only failures and the last line")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show every scenario, with its log")
	flags.IntVar(&f.parallel, "parallel", 0, "how many scenarios are played at the same time (default: the number of processors)")
	flags.StringArrayVar(&f.crds, "crds", nil, `a file or folder of CustomResourceDefinitions to install in each cluster; other kinds in it
are ignored; may be repeated`)
	flags.StringArrayVar(&f.manifests, "manifests", nil, `a file or folder of manifests to create in each cluster, in the order that installing needs;
may be repeated`)
	flags.StringArrayVar(&f.kustomize, "kustomize", nil, `a folder with a kustomization to build and install in each cluster, as by kubectl apply -k;
may be repeated`)
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", `play the scenarios on the cluster of this kubeconfig, in namespaces and API groups of their own that
are deleted afterwards; scenarios that this cluster cannot play are skipped, and a write that may
change other objects fails`)
	flags.BoolVar(&f.changesAll, "allow-cluster-changes", false, `with --kubeconfig: let scenarios change objects that are not their own, such as ClusterRoles or
objects in kube-system; for a cluster that you can throw away afterwards`)
	flags.DurationVar(&f.grace, "grace", 0, `with --kubeconfig: how long a step is repeated until its answer is the expected one, because a real
cluster finishes much of its work after the write (default 10s)`)
	flags.BoolVar(&f.update, "update", false, `rewrite the expectations of scenarios that fail, in their files, to the answers of the
cluster; comments, order and layout stay. Review the difference before you keep it`)
	flags.StringArrayVar(&f.reports, "report", nil, "also write the results to a file (`junit FILE` or json FILE, or junit=FILE); may be repeated")
	return cmd
}

// formats are the formats of --report.
var formats = map[string]func(io.Writer, []player.Result) error{"junit": player.WriteJUnit, "json": player.WriteJSON}

// check returns an error for flags that contradict each other and for wrong values.
func (f *runFlags) check() error {
	if f.quiet && f.verbose {
		return usageError{errors.New("run: --quiet and --verbose exclude each other; leave one of them out")}
	}
	if f.parallel < 0 {
		return usageError{fmt.Errorf("run: --parallel: %d is negative; write a number of scenarios, or leave the flag out", f.parallel)}
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

// player returns the player of the scenarios: on clusters in this process, or on the cluster of --kubeconfig.
func (f *runFlags) player(ctx context.Context) (player.Player, error) {
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

func (f *runFlags) play(cmd *cobra.Command, paths []string) error {
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
	// Libraries log rejected requests. Scenarios expect rejections, so the log is dropped.
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
	defer collector.RunLess()() // clusters soon become garbage
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

// writeReport writes results in the format and to the file of FORMAT=FILE. The file may be a FIFO that
// another process reads, such as >(command) of bash.
func writeReport(ctx context.Context, report string, results []player.Result) error {
	format, path, _ := strings.Cut(report, "=")
	var text bytes.Buffer
	if err := formats[format](&text, results); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o644)
	if errors.Is(err, syscall.ENXIO) {
		return fmt.Errorf("%s is a FIFO that no process reads: start its reader first, or name a file", path)
	} else if err != nil {
		return err
	}
	// After an interruption, a reader that does not read must not keep the process from ending.
	defer context.AfterFunc(ctx, func() { _ = file.SetWriteDeadline(time.Now().Add(lastWrite)) })()
	_, err = text.WriteTo(file)
	return errors.Join(err, file.Close())
}

// lastWrite is how long the write of a report may take after an interruption.
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
func (f *runFlags) chosen(loaded []*syntax.Scenario) ([]*syntax.Scenario, error) {
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
	b.WriteString(`Play the scenarios in files, in folders with their subfolders, and in files that
match globs, each on a cluster of its own in this process.

A scenario that passes is one line of output (on a terminal only with -v; without
it, one line shows the progress). A scenario that fails shows the step's file and
line, the object and the difference in YAML (-want +got). The last line is
"N passed, N failed". The exit status is 0 if all scenarios passed. If a path is
wrong or a scenario contains a mistake, nothing is played. Scenarios that wait are
played in virtual time.

A scenario has a name (scenario:), optionally a setup (manifests to create), and
steps. A step is one request, with expect: (fields that the answer must have) or
error: (the expected error):

`)
	for _, s := range syntax.StepDocs() {
		fmt.Fprintf(&b, "  %-17s %s\n", s.Name+":", s.Argument)
	}
	b.WriteString(`
The complete manual: go doc github.com/fakecluster/fakecluster/scenarios`)
	return b.String()
}
