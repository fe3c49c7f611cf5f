package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/release"
)

// testAssets are the assets of the test binary, which is the command itself.
var testAssets = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cache, err := os.MkdirTemp("", "fakecluster-assets-")
	if err != nil {
		return "", err
	}
	return assets(cache, self, "", time.Now())
})

// asset is a program of the assets that a test runs.
func asset(t *testing.T, name string) string {
	t.Helper()
	folder, err := testAssets()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, name)
}

// runProgram runs a program to its end.
func runProgram(t *testing.T, program string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), asMain+"=yes")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// program is a part of a control plane that runs, started as envtest does.
type program struct {
	cmd    *exec.Cmd
	stderr *bufio.Reader
}

// start starts a program and returns when it reports that it serves.
func start(t *testing.T, name string, args ...string) *program {
	t.Helper()
	return startProgram(t, asset(t, name), args...)
}

// startProgram is start with the path of the program.
func startProgram(t *testing.T, path string, args ...string) *program {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), asMain+"=yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{cmd, bufio.NewReader(stderr)}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := p.stderr.ReadString('\n'); err != nil || !strings.Contains(line, "127.0.0.1:") {
		t.Fatalf("%s says %q, %v", path, line, err)
	}
	return p
}

// stop ends the program and holds it to a clean exit.
func (p *program) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(p.stderr)
	if err := p.cmd.Wait(); err != nil || len(rest) > 0 {
		t.Errorf("the end of %s: %v, stderr %q", filepath.Base(p.cmd.Path), err, rest)
	}
}

// At its end, the drop-in prints the findings and writes the page if environment variables ask for them.
func TestTheDropInReportsAtItsEnd(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("FAKECLUSTER_REPORT", folder)
	t.Setenv("FAKECLUSTER_FINDINGS", "1")
	s := newSuite(t)
	p := start(t, "kube-apiserver", s.flags...)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	answer, err := client.Get("https://" + s.address + "/api/v1/pods")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(p.stderr)
	for _, want := range []string{"fakecluster: what happened in the cluster, the newest first (1 request, ", "the report is in " + folder} {
		if !strings.Contains(string(rest), want) {
			t.Errorf("stderr does not contain %q:\n%s", want, rest)
		}
	}
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if pages, err := filepath.Glob(filepath.Join(folder, "kube-apiserver.*.html")); err != nil || len(pages) != 1 {
		t.Errorf("pages: %q, %v", pages, err)
	}
}

// suite is what a suite gives its control plane.
type suite struct {
	folder  string
	clients *authentication.Authority
	serving *authentication.Authority
	address string
	flags   []string
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	s := &suite{folder: t.TempDir()}
	var err error
	if s.clients, err = authentication.NewAuthority("clients"); err != nil {
		t.Fatal(err)
	}
	if s.serving, err = authentication.NewAuthority("serving"); err != nil {
		t.Fatal(err)
	}
	pair, err := s.serving.ServerCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	encoded := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	for name, content := range map[string][]byte{
		"ca.crt": s.clients.PEM(), "apiserver.crt": certificate, "apiserver.key": encoded, "sa-signer.crt": certificate, "sa-signer.key": encoded,
	} {
		if err := os.WriteFile(filepath.Join(s.folder, name), content, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	s.address = freeAddress(t)
	_, port, _ := net.SplitHostPort(s.address)
	s.flags = []string{ // those of envtest
		"--allow-privileged=true", "--authorization-mode=RBAC", "--bind-address=127.0.0.1", "--cert-dir=" + s.folder, "--client-ca-file=" + s.folder + "/ca.crt",
		"--disable-admission-plugins=ServiceAccount", "--etcd-servers=http://127.0.0.1:1", "--secure-port=" + port, "--service-account-issuer=https://" + s.address + "/",
		"--service-account-key-file=" + s.folder + "/sa-signer.crt", "--service-account-signing-key-file=" + s.folder + "/sa-signer.key", "--service-cluster-ip-range=10.0.0.0/24",
	}
	return s
}

// needed are the flags that no server starts without.
func (s *suite) needed() []string {
	return slices.DeleteFunc(slices.Clone(s.flags), func(flag string) bool {
		return !strings.HasPrefix(flag, "--etcd-servers=") && !strings.HasPrefix(flag, "--service-account-")
	})
}

// freeAddress is an unused address that a cluster reserves for its webhook server while the test runs.
func freeAddress(t *testing.T) string {
	t.Helper()
	server := fakecluster.Start(t, fakecluster.WithWebhookPaths("../../fakecluster/testdata/webhook")).WebhookServer()
	return net.JoinHostPort(server.Host, strconv.Itoa(server.Port))
}

// as is a client with a certificate; without a user it has none.
func (s *suite) as(t *testing.T, user string, groups ...string) kubernetes.Interface {
	t.Helper()
	cfg := &clientrest.Config{Host: "https://" + s.address, TLSClientConfig: clientrest.TLSClientConfig{CAData: s.serving.PEM()}}
	if user != "" {
		var err error
		if cfg.CertData, cfg.KeyData, err = s.clients.ClientCertificate(user, groups...); err != nil {
			t.Fatal(err)
		}
	}
	return kubernetes.NewForConfigOrDie(cfg)
}

// ask sends a request to a URL without credentials, and accepts any certificate.
func ask(url string) string {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, ForceAttemptHTTP2: true}}
	answer, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return fmt.Sprint(answer.StatusCode, " ", string(body))
}

func TestControlPlane(t *testing.T) {
	s := newSuite(t)
	etcdAddress := freeAddress(t)
	etcd := start(t, "etcd", "--advertise-client-urls=http://"+etcdAddress, "--data-dir="+s.folder, "--listen-client-urls=http://"+etcdAddress, "--listen-peer-urls=http://127.0.0.1:0", "--unsafe-no-fsync=true")
	if got := ask("http://" + etcdAddress + "/health"); got != `200 {"health":"true","reason":""}` {
		t.Errorf("etcd's health: %s", got)
	}
	apiServer := start(t, "kube-apiserver", s.flags...)
	for _, path := range []string{"/healthz", "/readyz", "/livez"} {
		if got := ask("https://" + s.address + path); got != "200 ok" {
			t.Errorf("%s: %s", path, got)
		}
	}
	admin := s.as(t, "admin", "system:masters")
	if _, err := admin.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	if _, err := admin.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	watch, err := admin.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for user, want := range map[string]string{
		"jane": `configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "default"`,
		"":     `configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default"`,
	} {
		if _, err := s.as(t, user).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err == nil || err.Error() != want {
			t.Errorf("user %q: %v, want %s", user, err, want)
		}
	}
	// It is the API server alone: no controller ends a namespace.
	if err := admin.CoreV1().Namespaces().Delete(t.Context(), "kube-node-lease", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if left, err := admin.CoreV1().Namespaces().Get(t.Context(), "kube-node-lease", metav1.GetOptions{}); err != nil || left.Status.Phase != corev1.NamespaceTerminating {
		t.Errorf("the namespace: %v, %v", left.Status, err)
	}

	// Another control plane beside it is independent of it; one at the same address cannot start.
	other := newSuite(t)
	second := start(t, "kube-apiserver", other.flags...)
	if list, err := other.as(t, "admin", "system:masters").CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("the other one has %d objects, %v", len(list.Items), err)
	}
	status, _, stderr := runProgram(t, asset(t, "kube-apiserver"), s.flags...)
	if want := "Error: failed to create listener: failed to listen on " + s.address + ": listen tcp " + s.address + ": bind: address already in use\n"; status != 1 || stderr != want {
		t.Errorf("status %d, %q, want %q", status, stderr, want)
	}
	second.stop(t)
	apiServer.stop(t) // with the watch open
	etcd.stop(t)
	if files, err := os.ReadDir(s.folder); err != nil || len(files) != 5 {
		t.Errorf("files that were not there before: %v, %v", files, err)
	}
}

func TestProgramsAnswerVersionAndHelp(t *testing.T) {
	flag := func(program, name string) bool { // as envtest looks for a flag
		return regexp.MustCompile(`(?m)^\s*--` + name + `\b`).MatchString(program)
	}
	status, help, _ := runProgram(t, asset(t, "kube-apiserver"), "--help")
	if status != 0 || flag(help, "insecure-port") || !flag(help, "secure-port") {
		t.Errorf("status %d, help %s", status, help)
	}
	status, help, _ = runProgram(t, asset(t, "etcd"), "--help")
	if status != 0 || !flag(help, "unsafe-no-fsync") {
		t.Errorf("status %d, help %s", status, help)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	needed := newSuite(t).needed()
	with := func(flags ...string) []string { return append(slices.Clone(needed), flags...) }
	empty := t.TempDir()
	t.Setenv("PATH", empty)
	for _, c := range []struct {
		program string
		args    []string
		status  int
		stdout  string
		stderr  string
	}{
		{"kube-apiserver", []string{"--x"}, 1, "", "Error: unknown flag: --x\n"},
		{"kube-apiserver", []string{"--version"}, 0, "Kubernetes " + release.Libraries + "\n", ""},
		{"kube-apiserver", nil, 1, "", "Error: [--etcd-servers must be specified, service-account-issuer is a required flag, " +
			"either `--service-account-key-file` or `--service-account-signing-endpoint` must be set, --service-account-signing-key-file and --service-account-issuer are required flags]\n"},
		{"kube-apiserver", []string{"--etcd-servers=a", "--service-account-key-file=a", "--api-audiences=a"}, 1, "",
			"Error: [service-account-issuer is a required flag, --service-account-signing-key-file, --service-account-issuer, and --api-audiences should be specified together]\n"},
		{"kube-apiserver", []string{"--etcd-servers=a", "--service-account-key-file=a", "--service-account-issuer=a"}, 1, "",
			"Error: --service-account-signing-key-file, --service-account-issuer, and --api-audiences should be specified together\n"},
		{"kube-apiserver", with("--client-ca-file=" + missing), 1, "", "Error: --client-ca-file: open " + missing + ": no such file or directory\n"},
		{"kube-apiserver", with("--tls-cert-file="+missing, "--tls-private-key-file="+missing), 1, "", "Error: the certificate of the server: open " + missing + ": no such file or directory\n"},
		{"kube-apiserver", with("--authorization-mode=Webhook"), 1, "", "Error: authorization-mode Webhook's authorization config file not passed\n"},
		{"etcd", []string{"--listen-client-urls=ftp://127.0.0.1"}, 1, "", "etcd: --listen-client-urls: \"ftp://127.0.0.1\" is not a URL of http or https; write one such as http://localhost:2379\n"},
		{"etcd", []string{"--listen-client-urls=http://192.0.2.1:1"}, 1, "", "etcd: --listen-client-urls: 192.0.2.1 is not a loopback address; fakecluster listens on loopback addresses only\n"},
		{"etcd", []string{"--listen-client-urls=https://127.0.0.1:0", "--cert-file", missing}, 1, "", "etcd: --cert-file and --key-file: open " + missing + ": no such file or directory\n"},
		{"etcd", []string{"start"}, 1, "", "etcd: \"start\" is not a valid flag\n"},
		{"kubectl", []string{"get", "pods"}, 1, "", "kubectl: fakecluster does not contain kubectl, and it is not on the PATH.\nInstall it: https://kubernetes.io/docs/tasks/tools/\n"},
	} {
		status, stdout, stderr := runProgram(t, asset(t, c.program), c.args...)
		if status != c.status || stdout != c.stdout || stderr != c.stderr {
			t.Errorf("%s %q: status %d, stdout %q, stderr %q; want %d, %q, %q", c.program, c.args, status, stdout, stderr, c.status, c.stdout, c.stderr)
		}
	}
	// A kubectl on the PATH is run, and its own copy is not taken for one.
	if err := os.WriteFile(filepath.Join(empty, "kubectl"), []byte("#!/bin/sh\necho \"$@\"; exit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(asset(t, "kubectl"))+string(os.PathListSeparator)+empty)
	if status, stdout, _ := runProgram(t, asset(t, "kubectl"), "get", "pods"); status != 3 || stdout != "get pods\n" {
		t.Errorf("status %d, stdout %q", status, stdout)
	}
}

func TestEtcdServesTLS(t *testing.T) {
	t.Setenv("GODEBUG", "http2server=0") // no reason to offer HTTP/2 and not to speak it
	s := newSuite(t)
	etcd := start(t, "etcd", "--listen-client-urls", "https://"+s.address, "--cert-file", s.folder+"/apiserver.crt", "--key-file", s.folder+"/apiserver.key")
	for _, path := range []string{"/health", "/healthz"} {
		if got := ask("https://" + s.address + path); got != `200 {"health":"true","reason":""}` {
			t.Errorf("%s: %s", path, got)
		}
	}
	etcd.stop(t)
}

// orphan has the test binary start a program as envtest does, say so, and wait to be killed.
const orphan = "FAKECLUSTER_TEST_ORPHAN"

// startOrphan is the suite that is killed.
func startOrphan() {
	cmd := exec.Command(os.Getenv(orphan), os.Args[1:]...)
	cmd.Env = append(os.Environ(), asMain+"=yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	fmt.Fprintln(os.Stderr, cmd.Start())
	_ = cmd.Wait()
	os.Exit(0)
}

// A suite that is killed leaves no program running.
func TestProgramsEndWithTheirSuite(t *testing.T) {
	for _, name := range []string{"kube-apiserver", "etcd"} {
		args := []string{"--listen-client-urls=http://127.0.0.1:0"}
		if name == "kube-apiserver" {
			args = newSuite(t).flags
		}
		parent := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], args...)
		parent.Env = append(os.Environ(), orphan+"="+asset(t, name))
		stderr, err := parent.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		said := bufio.NewReader(stderr)
		for range 2 { // what the start returns, and that the program serves
			if line, err := said.ReadString('\n'); err != nil {
				t.Fatalf("%q, %v", line, err)
			}
		}
		_ = parent.Process.Kill()
		rest, err := io.ReadAll(said) // the program has the same stderr, and ends it with itself
		if err != nil || len(rest) > 0 {
			t.Errorf("%s: %q, %v", name, rest, err)
		}
		_ = parent.Wait()
	}
}

func TestAssets(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "new", "cache")
	executable := filepath.Join(t.TempDir(), "fakecluster")
	write := func(content string) {
		if err := os.WriteFile(executable, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	now := time.Now()
	var folders [8]string
	var clients sync.WaitGroup
	for i := range folders {
		clients.Go(func() {
			var err error
			if folders[i], err = assets(cache, executable, "", now); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
	for _, folder := range folders {
		if folder != folders[0] {
			t.Errorf("two folders: %s and %s", folder, folders[0])
		}
	}
	if mode := fileMode(t, folders[0]); mode != 0o700 {
		t.Errorf("mode of the folder: %o", mode)
	}
	for _, name := range []string{"kube-apiserver", "etcd", "kubectl"} {
		path := filepath.Join(folders[0], name)
		if content, err := os.ReadFile(path); err != nil || string(content) != "one" || fileMode(t, path) != 0o700 {
			t.Errorf("%s has %q, %v", name, content, err)
		}
	}
	if left, _ := os.ReadDir(cache); len(left) != 1 {
		t.Errorf("the cache has %v", left)
	}
	write("two")
	second, err := assets(cache, executable, "", now.Add(29*24*time.Hour))
	if err != nil || second == folders[0] {
		t.Errorf("another executable: %s, %v", second, err)
	}
	if left, _ := os.ReadDir(cache); len(left) != 2 {
		t.Errorf("after 29 days the cache has %v", left)
	}
	if _, err := assets(cache, executable, "", now.Add(31*24*time.Hour)); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(cache); len(left) != 1 || left[0].Name() != filepath.Base(second) {
		t.Errorf("after 31 days the cache has %v", left)
	}
	if _, err := assets(filepath.Join(executable, "cache"), executable, "", now); err == nil {
		t.Error("a file is taken for the cache")
	}
}

// The folder has a name that others can find out, and the test runs the programs in it: it has to be the user's own, all the
// way from the cache folder.
func TestEnvtestRefusesAFolderOfAnotherUser(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	play := func() (status int, stdout, stderr string) {
		var out, errs bytes.Buffer
		status = execute(t.Context(), []string{"envtest"}, &out, &errs)
		return status, strings.TrimSuffix(out.String(), "\n"), errs.String()
	}
	status, folder, _ := play()
	if status != 0 {
		t.Fatalf("status %d", status)
	}
	const elsewhere = ": remove it, or set XDG_CACHE_HOME (on macOS: HOME) to a folder of your own\n"
	refused := func(what, want string) {
		t.Helper()
		if status, stdout, stderr := play(); status != 1 || stdout != "" || stderr != "fakecluster: envtest: "+want+elsewhere {
			t.Errorf("%s: status %d, stdout %q, stderr %q, want %s", what, status, stdout, stderr, want)
		}
	}
	for _, path := range []string{folder, filepath.Dir(folder), filepath.Dir(filepath.Dir(folder))} {
		for _, mode := range []os.FileMode{0o720, 0o702, 0o777} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			refused("writable", fmt.Sprintf("%s has mode %#o, so other users could change its content", path, mode))
		}
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 { // who alone can give folders to others
			if err := os.Chown(path, 65534, -1); err != nil {
				t.Fatal(err)
			}
			refused("owned", path+" belongs to another user (uid 65534; yours is 0), who could change its content")
			if err := os.Chown(path, 0, -1); err != nil {
				t.Fatal(err)
			}
		}
		real := filepath.Join(t.TempDir(), "real")
		if err := os.Rename(path, real); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, path); err != nil {
			t.Fatal(err)
		}
		refused("linked", path+" is a symbolic link, which is not followed")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("my thesis"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused("a file", path+" is not a folder")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(real, path); err != nil {
			t.Fatal(err)
		}
	}
	if status, again, stderr := play(); status != 0 || again != folder {
		t.Errorf("its own again: status %d, %s, stderr %q", status, again, stderr)
	}

	// /usr is root's, or this test is root's.
	if info, err := os.Lstat("/usr"); err == nil && os.Geteuid() != 0 {
		if err := checkOwner("/usr", info); err == nil || !strings.Contains(err.Error(), "belongs to another user (uid 0") {
			t.Errorf("a folder of root: %v", err)
		}
	}
}

func TestEnvtestPrintsAFolder(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	var stdout, stderr bytes.Buffer
	if status := execute(t.Context(), []string{"envtest"}, &stdout, &stderr); status != 0 || stderr.Len() > 0 {
		t.Fatalf("status %d, stderr %q", status, &stderr)
	}
	if _, err := os.Stat(filepath.Join(strings.TrimSuffix(stdout.String(), "\n"), "kube-apiserver")); err != nil {
		t.Error(err)
	}
}
