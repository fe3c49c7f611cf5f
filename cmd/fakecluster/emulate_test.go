package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fakecluster/fakecluster/internal/host"
	"github.com/fakecluster/fakecluster/internal/release"
)

// The drop-in behaves as the version of its flag, or of its folder.
func TestTheDropInBehavesAsAnOlderVersion(t *testing.T) {
	// Kubernetes 1.36 made this version.
	const policies = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := assets(filepath.Join(t.TempDir(), "cache"), self, "-1.35", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	newest := release.Info().Minor
	for _, test := range []struct {
		rule, program string
		flags         []string
		minor         string
		emulated      string
		status        int
	}{
		{"without a flag", asset(t, "kube-apiserver"), nil, newest, newest, http.StatusOK},
		{"a flag", asset(t, "kube-apiserver"), []string{"--emulated-version=1.36"}, newest, "36", http.StatusOK},
		{"a flag with the component", asset(t, "kube-apiserver"), []string{"--emulated-version=kube=1.35"}, newest, "35", http.StatusNotFound},
		{"a folder", filepath.Join(folder, "kube-apiserver"), nil, "35", "35", http.StatusNotFound},
		{"a folder and a flag that says the same", filepath.Join(folder, "kube-apiserver"), []string{"--emulated-version=1.35"}, "35", "35", http.StatusNotFound},
		{"a folder and a flag", filepath.Join(folder, "kube-apiserver"), []string{"--emulated-version=1.36"}, newest, "36", http.StatusOK},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newSuite(t)
			p := startProgram(t, test.program, append(s.flags, test.flags...)...)
			client := s.as(t, "admin", "system:masters").Discovery()
			version, err := client.ServerVersion()
			if err != nil || version.Minor != test.minor || version.EmulationMinor != test.emulated {
				t.Errorf("/version is %+v, %v, want the minor version %s that emulates %s", version, err, test.minor, test.emulated)
			}
			var status int
			client.RESTClient().Get().AbsPath(policies).Do(t.Context()).StatusCode(&status)
			if status != test.status {
				t.Errorf("%s: %d, want %d", policies, status, test.status)
			}
			p.stop(t)
		})
	}
}

// serve begins anew as another version, in the same process.
func TestServeBehavesAsAnOlderVersion(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	cmd := exec.Command(asset(t, "etcd"), "serve", "--kubernetes-version", "v1.34", "--kubeconfig", kubeconfig)
	cmd.Args[0] = "fakecluster"
	cmd.Env = append(os.Environ(), asMain+"=yes")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(stdout).ReadString('\n'); !strings.HasPrefix(line, "ready ") {
		t.Fatalf("first line %q, %v", line, err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if version, err := kubernetes.NewForConfigOrDie(cfg).ServerVersion(); err != nil || version.EmulationMinor != "34" {
		t.Errorf("/version is %+v, %v", version, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Hosts of two versions run beside each other, and one with feature gates. A client gets the host that behaves as it asks.
func TestThereIsAHostForEachVersion(t *testing.T) {
	folder := hostCache(t)
	startHost(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	begin := func(env string, args ...string) (*exec.Cmd, string) {
		t.Helper()
		cmd := exec.Command(self, append([]string{"host"}, args...)...)
		cmd.Env = append(os.Environ(), asMain+"=yes", env)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		return cmd, line
	}
	gated, line := begin("FAKECLUSTER_FEATURE_GATES= HPAScaleToZero=false ")
	_, same := begin("FAKECLUSTER_FEATURE_GATES=HPAScaleToZero=0")
	if !strings.HasPrefix(line, "ready unix:"+folder+"-") || same != line {
		t.Errorf("the host with a gate says %q, and then %q, want a folder of its own", line, same)
	}
	if err := gated.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := gated.Wait(); err != nil {
		t.Error(err)
	}
	older, line := begin("", "--kubernetes-version", "1.35")
	if want := "ready unix:" + folder + "-1.35/host.sock\n"; line != want {
		t.Fatalf("the host of 1.35 says %q, want %q", line, want)
	}
	again, second := begin("FAKECLUSTER_KUBERNETES_VERSION=1.35")
	if second != line {
		t.Errorf("the second one says %q, want %q", second, line)
	}
	if err := again.Wait(); err != nil {
		t.Errorf("the second one: %v", err)
	}
	for in, version := range map[string]string{folder: release.Newest().String(), folder + "-1.35": "1.35"} {
		if info, code := infoOf(t, unixClient(socketIn(in)), "http://fakecluster", ""); code != http.StatusOK || info.BehavesAs != version {
			t.Errorf("the host in %s: %d, it behaves as %q, want %q", in, code, info.BehavesAs, version)
		}
	}
	if err := older.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := older.Wait(); err != nil {
		t.Error(err)
	}
}

// A host starts the host of another version for a cluster, and the client uses only the first one.
func TestAHostHasClustersOfEachVersion(t *testing.T) {
	folder := hostCache(t)
	t.Setenv(asMain, "yes") // for the other host
	startHost(t)
	client := unixClient(socketIn(folder))
	client.Timeout = 0
	t.Cleanup(client.CloseIdleConnections)
	session, err := client.Post("http://fakecluster/v1/sessions", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Body.Close() })
	var opened host.Session
	if err := json.NewDecoder(session.Body).Decode(&opened); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"", "1.35"} {
		body := fmt.Sprintf(`{"session": %q, "kubernetesVersion": %q}`, opened.Session, version)
		answer, err := client.Post("http://fakecluster/v1/clusters", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var made host.Cluster
		if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("a cluster of version %q: %s %v", version, answer.Status, err)
		}
		answer.Body.Close()
		cfg, err := clientcmd.RESTConfigFromKubeConfig([]byte(made.Kubeconfig))
		if err != nil {
			t.Fatal(err)
		}
		want := cmp.Or(version, release.Newest().String())
		if answered, err := kubernetes.NewForConfigOrDie(cfg).ServerVersion(); err != nil || answered.Major+"."+answered.Minor != want {
			t.Errorf("/version of the cluster of version %q is %+v, %v, want %s", version, answered, err, want)
		}
	}
	other := unixClient(socketIn(folder + "-1.35"))
	info, code := infoOf(t, other, "http://fakecluster", "")
	if code != http.StatusOK || info.BehavesAs != "1.35" || info.Sessions != 1 || info.Clusters != 1 || info.PID == os.Getpid() {
		t.Errorf("the other host: %d %+v", code, info)
	}
	// It would end by itself after a minute.
	if process, err := os.FindProcess(info.PID); err != nil || process.Signal(syscall.SIGTERM) != nil {
		t.Errorf("the other host cannot be ended: %v", err)
	}
}

func TestVersionsThatDoNotExist(t *testing.T) {
	choices := "write " + release.Choices() + "\n"
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", "--kubernetes-version", "1.33"}, `fakecluster: serve: --kubernetes-version: fakecluster does not have Kubernetes "1.33": ` + choices},
		{[]string{"run", "--kubernetes-version=1.35.4", "x.yaml"}, `fakecluster: run: --kubernetes-version: fakecluster does not have Kubernetes "1.35.4": ` + choices},
		{[]string{"envtest", "--kubernetes-version=newest"}, `fakecluster: envtest: --kubernetes-version: fakecluster does not have Kubernetes "newest": ` + choices},
	} {
		var stdout, stderr bytes.Buffer
		if status := execute(t.Context(), test.args, &stdout, &stderr); status != wrongUsage || stderr.String() != test.want || stdout.Len() > 0 {
			t.Errorf("%q: status %d, stdout %q, stderr %q, want %q", test.args, status, &stdout, &stderr, test.want)
		}
	}
	s := newSuite(t)
	if status, _, stderr := runProgram(t, asset(t, "kube-apiserver"), append(s.flags, "--emulated-version=1.30")...); status != failed ||
		stderr != `Error: --emulated-version: fakecluster does not have Kubernetes "1.30": `+choices {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
	t.Setenv("FAKECLUSTER_KUBERNETES_VERSION", "1.2")
	if status, _, stderr := runProgram(t, asset(t, "kube-apiserver"), s.flags...); status != failed ||
		stderr != `Error: FAKECLUSTER_KUBERNETES_VERSION: fakecluster does not have Kubernetes "1.2": `+choices {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}
