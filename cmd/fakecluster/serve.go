package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/description"
	"github.com/fakecluster/fakecluster/internal/manifests"
	"github.com/fakecluster/fakecluster/internal/serverflags"
	"github.com/fakecluster/fakecluster/kustomize"
	"github.com/fakecluster/fakecluster/workloads"
)

// serveFlags has the flags of serve.
type serveFlags struct {
	cluster              description.Cluster // the options that package description has
	kubeconfig, data     string
	fsync                string
	snapshot, record     string
	port                 int
	garbage, ui          bool
	objects, controllers []string
	session              *session               // nil: nothing is recorded
	apiServer            *serverflags.Arguments // flags of kube-apiserver; nil: the command does not have them
	living               livingFlags
	workloads            []workloads.Option // nil: no workloads run
}

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Serve a cluster until SIGINT or SIGTERM",
		Long: `Serve a cluster on a loopback port until SIGINT or SIGTERM, and then exit with
status 0. Without --data, the cluster is lost at the end.

As soon as the server answers, the command prints the line "ready URL" on stdout. Clients
authenticate with the kubeconfig, which has the URL and the cluster's token. Without
--kubeconfig, the command writes one to a temporary folder, and prints the line for your
shell, export KUBECONFIG=FILE, on stderr.

Serve also takes the flags of kube-apiserver, such as --client-ca-file;
"$(fakecluster envtest)/kube-apiserver --help" lists them. As on a real server, the
history is compacted every five minutes, so that old continue tokens expire;
--etcd-compaction-interval changes that.`,
		Example: `  fakecluster serve --kubeconfig cluster.kubeconfig --crds config/crd &
  kubectl --kubeconfig cluster.kubeconfig get namespaces

  fakecluster serve --port 8080 --manifests deploy/ --controllers '*'
  fakecluster serve --workloads --nodes 5
  fakecluster serve --data cluster.data
  fakecluster serve --record session.yaml
  fakecluster serve --ui
  fakecluster serve --client-ca-file ca.crt --authorization-mode Node,RBAC`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			logOwn(cmd.ErrOrStderr())
			lives, err := f.living.options(cmd)
			if err == nil && lives != nil && f.record != "" {
				err = usageError{errors.New("--record and --workloads exclude each other, because a scenario has the requests of clients only; leave one of them out")}
			}
			f.workloads = lives
			if err == nil {
				err = f.serve(cmd)
			}
			if err != nil {
				return fmt.Errorf("serve: %w", err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", `write a kubeconfig to this file, readable by you alone, before "ready";
it is removed at the end, unless the file existed before or has changed
(only an empty file or an earlier kubeconfig of fakecluster is overwritten)`)
	flags.IntVar(&f.port, "port", 0, "listen on this port of 127.0.0.1 (default: a free one)")
	flags.BoolVar(&f.ui, "ui", false, `serve a page about the cluster (requests, objects with their revisions, findings) on a
loopback port, and print "ui URL" on stderr; the URL contains a secret`)
	flags.StringVar(&f.data, "data", "", `keep the cluster in this file, readable by you alone, and continue with its content:
each write is in the file before it is answered; the file is created if it does not exist`)
	flags.StringVar(&f.fsync, "fsync", "", `when writes to the file of --data are synced to the disk, so that they survive a power
failure: always (before each answer) or second (within a second) (default: always)`)
	flags.StringVar(&f.record, "record", "", `record the requests of clients in this new file, as a scenario for "fakecluster run":
requests for resources and their answers, without watches and discovery`)
	f.living.describe(flags)
	f.describe(flags)
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc) // as kube-apiserver does
	f.apiServer = serverflags.Define(flags)
	return cmd
}

// describe adds the flags that configure the cluster.
func (f *serveFlags) describe(flags *pflag.FlagSet) {
	description.AddFlags(flags, &f.cluster)
	flags.StringVar(&f.snapshot, "snapshot", "", "begin with the cluster in this file of fakecluster snapshot;\nan existing file of --data takes precedence")
	flags.StringArrayVar(&f.objects, "objects", nil, "a file of manifests to create, with their status, in the order that installing needs; may be repeated")
	flags.StringSliceVar(&f.controllers, "controllers", nil, "the controllers that act within a write, separated by commas: '*' for all of these, 'none' for none, or names.\nnamespace-controller acts within a write only if it is named; otherwise a namespace ends five seconds after its deletion\nat the earliest, as in a real cluster. Other controllers, such as those of Deployments, Jobs and Endpoints, run with --workloads.\n"+controllerNames())
	flags.BoolVar(&f.garbage, "garbage-collection", false, "delete dependents with their owners, as the controller garbage-collector-controller does")
}

func controllerNames() string {
	var names []string
	for _, c := range fakecluster.AllControllers() {
		names = append(names, string(c))
	}
	return strings.Join(names, ",\n")
}

// options returns the options of the cluster for the flags.
func (f *serveFlags) options(cmd *cobra.Command) ([]fakecluster.Option, error) {
	options, err := f.cluster.Options(kustomize.Build)
	if err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("port") {
		if f.port < 1 || f.port > 65535 {
			return nil, usageError{fmt.Errorf("--port: %d is not a port; write one from 1 to 65535, or leave the flag out for a free one", f.port)}
		}
		options = append(options, fakecluster.WithPort(f.port))
	}
	kept, err := f.storageOptions(cmd)
	if err != nil {
		return nil, err
	}
	options = append(options, kept...)
	if f.apiServer != nil {
		if err := f.checkAPIServer(); err != nil {
			return nil, err
		}
		options = append(options, fakecluster.WithAPIServerFlags(compactionInterval), fakecluster.WithAPIServerFlags(*f.apiServer...))
	}
	controllers, err := f.acting(cmd.Flags().Changed("controllers"))
	if err != nil {
		return nil, err
	}
	named := slices.Contains(f.controllers, string(fakecluster.NamespaceController))
	if f.record == "" && !named && f.living.endsNamespaces() { // a scenario is played without upstream's controller
		controllers = f.endNamespacesLater(controllers)
	}
	options = append(options, fakecluster.WithControllers(controllers...))
	if f.record != "" {
		if f.session, err = f.begin(cmd, controllers); err != nil {
			return nil, err
		}
		options = append(options, fakecluster.WithMiddleware(f.session.Wrap))
	}
	for _, path := range f.objects {
		objects, err := readObjects(path)
		if err != nil {
			return nil, fmt.Errorf("--objects: %w", err)
		}
		options = append(options, fakecluster.WithObjects(objects...))
	}
	return options, nil
}

// compactionInterval is the default of kube-apiserver. A later flag overrides it.
const compactionInterval = "--etcd-compaction-interval=5m"

// checkAPIServer checks the flags of kube-apiserver.
func (f *serveFlags) checkAPIServer() error {
	flags, err := serverflags.Parse(*f.apiServer)
	if err != nil {
		return usageError{err}
	}
	for _, flag := range serverflags.Table {
		if f.record != "" && flag.Applied != "" && flag.Name != "etcd-compaction-interval" && flags.Given(flag.Name) {
			return usageError{fmt.Errorf("--record and --%s exclude each other, because the cluster of a scenario does not take flags of kube-apiserver; leave one of them out", flag.Name)}
		}
	}
	if err := follow(flags); err != nil {
		return usageError{err}
	}
	return nil
}

// storageOptions returns the options for the initial content of the cluster and for its file.
func (f *serveFlags) storageOptions(cmd *cobra.Command) (options []fakecluster.Option, err error) {
	switch fsync := fakecluster.Fsync(f.fsync); {
	case fsync != "" && fsync != fakecluster.FsyncAlways && fsync != fakecluster.FsyncEverySecond:
		return nil, usageError{fmt.Errorf("--fsync: there is no mode %q; write %s or %s", fsync, fakecluster.FsyncAlways, fakecluster.FsyncEverySecond)}
	case cmd.Flags().Changed("data"):
		options = append(options, fakecluster.WithDataFile(f.data, fsync))
	case fsync != "":
		return nil, usageError{errors.New("--fsync: needs --data FILE")}
	}
	if cmd.Flags().Changed("snapshot") {
		content, err := readSnapshot(f.snapshot)
		if err != nil {
			return nil, err
		}
		options = append(options, fakecluster.WithSnapshot(content))
	}
	return options, nil
}

// acting returns the controllers that act within a write.
func (f *serveFlags) acting(given bool) ([]fakecluster.Controller, error) {
	acting := fakecluster.DefaultControllers()
	if given {
		acting = nil
	}
	for _, name := range f.controllers {
		switch name {
		case "*":
			acting = append(acting, fakecluster.AllControllers()...)
		case "none":
			if len(f.controllers) > 1 {
				return nil, usageError{errors.New("--controllers: none excludes other names; write none alone, or only the others")}
			}
		default:
			if !slices.Contains(fakecluster.AllControllers(), fakecluster.Controller(name)) {
				return nil, usageError{fmt.Errorf("--controllers: %q is not a controller that acts within a write: %s are; another one of kube-controller-manager runs with --workloads", name, strings.ReplaceAll(controllerNames(), "\n", " "))}
			}
			acting = append(acting, fakecluster.Controller(name))
		}
	}
	if f.garbage {
		acting = append(acting, fakecluster.GarbageCollector)
	}
	return acting, nil
}

// endNamespacesLater runs upstream's namespace-controller in place of the one that acts within a write, and
// returns the other controllers. The one within a write never acts, not even at the start and at the end of
// the command. So a namespace that is ending when a server with --data stops keeps its content, and ends
// after the next start.
func (f *serveFlags) endNamespacesLater(acting []fakecluster.Controller) []fakecluster.Controller {
	others := slices.DeleteFunc(acting, func(c fakecluster.Controller) bool { return c == fakecluster.NamespaceController })
	if len(others) < len(acting) && f.workloads == nil {
		f.workloads = []workloads.Option{workloads.Controllers(string(fakecluster.NamespaceController)), workloads.WithoutScheduler()}
	}
	return others
}

// readObjects reads the objects of a file of YAML documents or JSON.
func readObjects(path string) ([]runtime.Object, error) {
	text, err := manifests.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var objects []runtime.Object
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for n := 1; ; n++ {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("%s: document %d: %w", path, n, err)
		case len(u.Object) > 0:
			objects = append(objects, u)
		}
	}
}

// unwrapped returns an error without the prefix "WithAPIServerFlags: ".
func unwrapped(err error) error {
	if text, ok := strings.CutPrefix(err.Error(), "WithAPIServerFlags: "); ok {
		return errors.New(text)
	}
	return err
}

// started is a running cluster with its workloads.
type started struct {
	cluster *fakecluster.Cluster
	end     func() // ends the workloads
}

func (s started) close() error {
	s.end()
	return s.cluster.Close()
}

// start starts the cluster. It may take long, for example for a large data file, or if a webhook does not
// answer.
func (f *serveFlags) start(cmd *cobra.Command) (started, error) {
	options, err := f.options(cmd)
	if err != nil {
		return started{}, err
	}
	s := started{end: func() {}}
	if s.cluster, err = fakecluster.New(options...); err != nil {
		return started{}, unwrapped(err)
	}
	if f.workloads != nil {
		if s.end, err = live(s.cluster, f.workloads, cmd.ErrOrStderr()); err != nil {
			return started{}, errors.Join(err, s.cluster.Close())
		}
	}
	return s, nil
}

// serve serves a cluster until the context of the command ends.
func (f *serveFlags) serve(cmd *cobra.Command) (err error) {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	running, err := interruptible(ctx, "the cluster was ready", func() (started, error) { return f.start(cmd) }, func(s started) { _ = s.close() })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.close()) }()
	cluster := running.cluster
	content, err := cluster.Kubeconfig()
	if err != nil {
		return err
	}
	path := f.kubeconfig
	if path == "" {
		folder, err := os.MkdirTemp("", "fakecluster-")
		if err != nil {
			return fmt.Errorf("kubeconfig: %w", err)
		}
		defer os.Remove(folder)
		path = filepath.Join(folder, "kubeconfig")
	}
	remove, err := writeKubeconfig(path, content)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	defer remove()
	if f.kubeconfig == "" {
		fmt.Fprintf(stderr, "export KUBECONFIG=%s\n", path)
	}
	if f.session != nil {
		if err := f.session.Begin(cluster.RESTConfig()); err != nil {
			return err
		}
	}
	if f.ui {
		url, end, failed := serveUI(cluster)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, end()) }()
		fmt.Fprintf(stderr, "ui %s\n", url)
	}
	if _, err := fmt.Fprintln(stdout, "ready", cluster.URL()); err != nil {
		return err
	}
	<-ctx.Done()
	reportEnd(cluster, "serve", stderr)
	if f.session != nil {
		return f.session.end(f.record, stderr)
	}
	return nil
}
