package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fakecluster/fakecluster/internal/release"
)

// asMain makes the test binary the command itself, for the tests of signals.
const asMain = "FAKECLUSTER_TEST_MAIN"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asMain) != "":
		main()
	case os.Getenv(orphan) != "":
		startOrphan()
	}
	status := m.Run()
	if folder, err := testAssets(); err == nil {
		os.RemoveAll(filepath.Dir(folder))
	}
	os.Exit(status)
}

// served is a serve command that runs in this process.
type served struct {
	url    string
	stop   context.CancelFunc
	output *bufio.Reader
	status chan int
	stderr *bytes.Buffer
}

// serveArgs starts serve and returns when it has said that it is ready.
func serveArgs(t *testing.T, args ...string) *served {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	s := &served{stop: stop, output: bufio.NewReader(read), status: make(chan int, 1), stderr: &bytes.Buffer{}}
	go func() {
		status := execute(ctx, append([]string{"serve"}, args...), write, s.stderr)
		write.Close()
		s.status <- status
	}()
	line, err := s.output.ReadString('\n')
	if err != nil {
		t.Fatalf("not ready: %v; status %d, stderr %q", err, <-s.status, s.stderr)
	}
	url, ready := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "ready ")
	if !ready {
		t.Fatalf("first line %q", line)
	}
	s.url = url
	return s
}

// end stops the command and holds it to a clean exit without another word.
func (s *served) end(t *testing.T) {
	t.Helper()
	s.stop()
	rest, _ := io.ReadAll(s.output)
	if status := <-s.status; status != 0 || len(rest) > 0 || s.stderr.Len() > 0 {
		t.Errorf("end of serve: status %d, stdout after ready %q, stderr %q", status, rest, s.stderr)
	}
}

func TestServe(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	s := serveArgs(t, "--kubeconfig", kubeconfig, "--crds", "../../scenarios/crontab/crontab-crd.yaml")
	if !strings.HasPrefix(s.url, "http://127.0.0.1:") {
		t.Errorf("URL %q", s.url)
	}
	if mode := fileMode(t, kubeconfig); mode != 0o600 {
		t.Errorf("mode of the kubeconfig: %o", mode)
	}
	if got, want := list(t, kubeconfig, "", "v1", "namespaces"), []string{"default", "kube-node-lease", "kube-public", "kube-system"}; !slices.Equal(got, want) {
		t.Errorf("namespaces %q, want %q", got, want)
	}
	if got := list(t, kubeconfig, "stable.example.com", "v1", "crontabs"); len(got) != 0 {
		t.Errorf("crontabs %q", got)
	}
	s.end(t)
	if _, err := os.Stat(kubeconfig); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig after the end: %v", err)
	}
}

// At its end, serve prints the findings and writes the page if environment variables ask for them.
func TestServeReportsAtItsEnd(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("FAKECLUSTER_REPORT", folder)
	t.Setenv("FAKECLUSTER_FINDINGS", "1")
	s := serveArgs(t, "--kubeconfig", filepath.Join(t.TempDir(), "kubeconfig"))
	if _, err := http.Get(s.url + "/api/v1/pods"); err != nil {
		t.Fatal(err)
	}
	s.stop()
	_, _ = io.ReadAll(s.output)
	<-s.status
	for _, want := range []string{"fakecluster: what happened in the cluster, the newest first (", "401 Unauthorized", "fakecluster: the report is in " + folder} {
		if !strings.Contains(s.stderr.String(), want) {
			t.Errorf("stderr does not contain %q:\n%s", want, s.stderr)
		}
	}
	if pages, err := filepath.Glob(filepath.Join(folder, "*.serve.html")); err != nil || len(pages) != 1 {
		t.Errorf("pages: %q, %v", pages, err)
	}
}

// Without --kubeconfig serve prints how a shell uses the cluster, and leaves nothing behind.
func TestServeWithoutKubeconfig(t *testing.T) {
	s := serveArgs(t)
	said, ready := strings.CutPrefix(strings.TrimSuffix(s.stderr.String(), "\n"), "export KUBECONFIG=")
	if !ready {
		t.Fatalf("stderr %q", s.stderr)
	}
	if got := list(t, said, "", "v1", "namespaces"); len(got) != 4 {
		t.Errorf("namespaces %q", got)
	}
	s.stderr.Reset()
	s.end(t)
	if _, err := os.Stat(filepath.Dir(said)); !os.IsNotExist(err) {
		t.Errorf("the folder after the end: %v", err)
	}
}

// What serve begins with, and where.
func TestServeStartsWithTheContentOfItsFlags(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	manifests := write("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n")
	objects := write("b.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {containers: [{name: c, image: i}]}, status: {phase: Running}}\n")
	kubeconfig := filepath.Join(folder, "kubeconfig")
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	s := serveArgs(t, "--kubeconfig", kubeconfig, "--port", port, "--tls", "--manifests", manifests, "--objects", objects, "--controllers", "none",
		"--runtime-config", "resource.k8s.io/v1beta2=true", "--enable-admission-plugins", "AlwaysPullImages")
	if s.url != "https://"+address {
		t.Errorf("URL %s", s.url)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	if _, err := client.CoreV1().ConfigMaps("shop").Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	pod, err := client.CoreV1().Pods("default").Get(t.Context(), "b", metav1.GetOptions{})
	if err != nil || pod.Status.Phase != "Running" || pod.Spec.Containers[0].ImagePullPolicy != "Always" {
		t.Errorf("%v, %v", pod, err)
	}
	if got := list(t, kubeconfig, "resource.k8s.io", "v1beta2", "deviceclasses"); len(got) != 0 {
		t.Errorf("device classes %q", got)
	}
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "shop", metav1.GetOptions{}); err != nil {
		t.Errorf("without controllers the namespace is gone: %v", err)
	}
	s.end(t)
}

// A kubeconfig that is no longer what serve has written is not its own.
func TestServeRemovesOnlyItsOwnKubeconfig(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "kubeconfig")
	first := serveArgs(t, "--kubeconfig", path)
	second := serveArgs(t, "--kubeconfig", path)
	first.end(t)
	if got := list(t, path, "", "v1", "namespaces"); len(got) != 4 {
		t.Errorf("namespaces of the second one %q", got)
	}
	second.end(t)

	target := filepath.Join(folder, "target")
	link, dangling, pipe := filepath.Join(folder, "link"), filepath.Join(folder, "dangling"), filepath.Join(folder, "pipe")
	for _, err := range []error{
		os.WriteFile(target, nil, 0o644), os.Symlink(target, link), os.Symlink(filepath.Join(folder, "nothing"), dangling), syscall.Mkfifo(pipe, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{link, dangling, pipe} {
		var stdout, stderr bytes.Buffer
		status := execute(t.Context(), []string{"serve", "--kubeconfig", path}, &stdout, &stderr)
		want := "fakecluster: serve: kubeconfig: " + path + " exists, is not a regular file, and is not overwritten: name another file\n"
		if _, err := os.Lstat(path); status != 1 || stdout.Len() > 0 || stderr.String() != want || err != nil {
			t.Errorf("status %d, stdout %q, stderr %q, want %q; %v", status, &stdout, &stderr, want, err)
		}
	}
	if content, err := os.ReadFile(target); err != nil || len(content) > 0 {
		t.Errorf("the target of the link has %q, %v", content, err)
	}
}

func TestRootCommand(t *testing.T) {
	for _, c := range []struct {
		args []string
		has  string
	}{
		{[]string{"--version"}, ", Kubernetes " + release.Libraries + "\n"},
		{[]string{"completion", "bash"}, "bash completion"},
		{[]string{"help", "serve"}, "kubectl --kubeconfig cluster.kubeconfig get namespaces"},
		{[]string{"help", "run"}, "fakecluster run scenarios/"},
		{[]string{"help"}, "KUBEBUILDER_ASSETS=$(fakecluster envtest) go test ./..."},
	} {
		var stdout, stderr bytes.Buffer
		if status := execute(t.Context(), c.args, &stdout, &stderr); status != 0 || !strings.Contains(stdout.String(), c.has) || stderr.Len() > 0 {
			t.Errorf("%q: status %d, stdout %q, stderr %q", c.args, status, &stdout, &stderr)
		}
	}
}

func TestServeLegacyAPIs(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	const crds = "../../scenarios/legacy/preserving-crontab.yaml"
	var stderr bytes.Buffer
	if status := execute(t.Context(), []string{"serve", "--crds", crds}, io.Discard, &stderr); status == 0 {
		t.Error("without --legacy-apis a definition in v1beta1 is taken")
	}
	if got, want := stderr.String(), "is in apiextensions.k8s.io/v1beta1, which only a cluster with legacy APIs serves; write it in apiextensions.k8s.io/v1\n"; !strings.HasSuffix(got, want) {
		t.Errorf("stderr %q, want …%q", got, want)
	}

	s := serveArgs(t, "--kubeconfig", kubeconfig, "--crds", crds, "--legacy-apis")
	if got, want := list(t, kubeconfig, "apiextensions.k8s.io", "v1beta1", "customresourcedefinitions"), []string{"crontabs.stable.example.com"}; !slices.Equal(got, want) {
		t.Errorf("definitions %q, want %q", got, want)
	}
	s.end(t)
}

func TestServeGarbageCollection(t *testing.T) {
	for _, c := range []struct {
		flags []string
		left  []string
	}{
		{nil, []string{"dependent"}}, {[]string{"--garbage-collection"}, []string{}},
	} {
		kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
		s := serveArgs(t, append(c.flags, "--kubeconfig", kubeconfig)...)
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
		dependent := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "dependent", "ownerReferences": []any{
				map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "none"}}},
		}}
		if _, err := dynamic.NewForConfigOrDie(config).Resource(configMaps).Namespace("default").Create(t.Context(), dependent, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		got := list(t, kubeconfig, "", "v1", "configmaps")
		got = slices.DeleteFunc(got, func(name string) bool { return name != "dependent" }) // others are there from the start
		if !slices.Equal(got, c.left) {
			t.Errorf("with %q there is left %q, want %q", c.flags, got, c.left)
		}
		s.end(t)
	}
}

// list reads the names of a collection as any client with the kubeconfig would.
func list(t *testing.T, kubeconfig, group, version, resource string) []string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := client.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range objects.Items {
		names = append(names, object.GetName())
	}
	return names
}

func fileMode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// Which files --kubeconfig overwrites; a file that was there stays.
func TestServeOverwritesOnlyItsOwnKubeconfig(t *testing.T) {
	earlier := filepath.Join(t.TempDir(), "kubeconfig")
	first := serveArgs(t, "--kubeconfig", earlier)
	own, err := os.ReadFile(earlier)
	if err != nil {
		t.Fatal(err)
	}
	first.end(t)
	others := strings.ReplaceAll(string(own), "fakecluster", "production")

	tests := []struct {
		rule, before string
		overwrites   bool
	}{
		{"an empty file", "", true},
		{"a kubeconfig of fakecluster", string(own), true},
		{"somebody else's kubeconfig", others, false},
		{"a file of another kind", "precious", false},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kubeconfig")
			if err := os.WriteFile(path, []byte(test.before), 0o644); err != nil {
				t.Fatal(err)
			}
			if test.overwrites {
				s := serveArgs(t, "--kubeconfig", path)
				if mode := fileMode(t, path); mode != 0o600 {
					t.Errorf("mode %o", mode)
				}
				if got := list(t, path, "", "v1", "namespaces"); len(got) != 4 {
					t.Errorf("namespaces %q", got)
				}
				s.end(t)
				fileMode(t, path)
				return
			}
			var stdout, stderr bytes.Buffer
			status := execute(t.Context(), []string{"serve", "--kubeconfig", path}, &stdout, &stderr)
			want := "fakecluster: serve: kubeconfig: " + path + " exists, is not a kubeconfig of fakecluster, and is not overwritten: remove it, or name another file\n"
			if status != 1 || stdout.Len() > 0 || stderr.String() != want {
				t.Errorf("status %d, stdout %q, stderr %q, want %q", status, &stdout, &stderr, want)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != test.before {
				t.Errorf("the file is now %q, %v", after, err)
			}
		})
	}
}

// A signal ends the real process cleanly, with a client's watch still open.
func TestSignalsEndServe(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			child := startServe(t, "--kubeconfig", kubeconfig)
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			client, err := dynamic.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			watch, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer watch.Stop()
			child.end(signal)
			for range watch.ResultChan() { // ends with the server
			}
			if _, err := os.Stat(kubeconfig); !os.IsNotExist(err) {
				t.Errorf("the kubeconfig after the end: %v", err)
			}
		})
	}
}

// A signal also ends a command that still starts its cluster, which may take long.
func TestSignalsEndCommandsThatStart(t *testing.T) {
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	t.Chdir(t.TempDir())
	for _, test := range []struct{ name, command, want string }{
		{"fakecluster", "serve", "fakecluster: serve: interrupted before the cluster was ready: context canceled\n"},
		{"fakecluster", "serve --workloads", "fakecluster: serve: interrupted before the cluster was ready: context canceled\n"},
		{"fakecluster", "snapshot file", "fakecluster: snapshot: interrupted before the cluster was made: context canceled\n"},
		{kubeAPIServerName, "--etcd-servers=http://127.0.0.1:1 --service-account-issuer=https://a --service-account-key-file=a.pub --service-account-signing-key-file=a.key",
			"Error: interrupted before the server was ready: context canceled\n"},
	} {
		var stdout, stderr bytes.Buffer
		if status := runAs(interrupted, test.name, strings.Fields(test.command), &stdout, &stderr); status != failed || stdout.Len() > 0 || stderr.String() != test.want {
			t.Errorf("%s: status %d, stdout %q, stderr %q, want %q", test.command, status, &stdout, &stderr, test.want)
		}
	}

	// What the start returns then is not left behind.
	begun, dropped := make(chan bool), make(chan int)
	ctx, interrupt := context.WithCancel(t.Context())
	go func() { <-begun; interrupt() }()
	_, err := interruptible(ctx, "it was there", func() (int, error) { close(begun); <-ctx.Done(); return 1, nil }, func(n int) { dropped <- n })
	if want := "interrupted before it was there: context canceled"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if got := <-dropped; got != 1 {
		t.Errorf("dropped: %d", got)
	}
}

// serveProcess is the command serve in a process of its own.
type serveProcess struct {
	*testing.T
	process *exec.Cmd
	output  *bufio.Reader
	stderr  *bytes.Buffer
}

// startServe starts the command serve, and returns when it is ready.
func startServe(t *testing.T, flags ...string) *serveProcess {
	t.Helper()
	s := &serveProcess{t, exec.CommandContext(t.Context(), os.Args[0], append([]string{"serve"}, flags...)...), nil, &bytes.Buffer{}}
	s.process.Env = append(os.Environ(), asMain+"=yes")
	s.process.Stderr = s.stderr
	stdout, err := s.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	s.output = bufio.NewReader(stdout)
	if line, err := s.output.ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready http") {
		_ = s.process.Wait()
		t.Fatalf("first line %q, %v, stderr %q", line, err, s.stderr)
	}
	return s
}

// end sends a signal. The process has to end without an error, and without another word.
func (s *serveProcess) end(signal syscall.Signal) {
	s.Helper()
	if err := s.process.Process.Signal(signal); err != nil {
		s.Fatal(err)
	}
	rest, _ := io.ReadAll(s.output)
	if err := s.process.Wait(); err != nil || len(rest) > 0 || s.stderr.Len() > 0 {
		s.Errorf("end: %v, stdout after ready %q, stderr %q", err, rest, s.stderr)
	}
}
