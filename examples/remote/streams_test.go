package remote

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	clientspdy "k8s.io/client-go/transport/spdy"

	//lint:ignore SA1019 the executors of client-go are of its type
	"k8s.io/apimachinery/pkg/util/httpstream/spdy"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/remote"
)

// newExecutor is remotecommand.NewSPDYExecutor with the connections of the configuration's transport, so it works in bubbles.
func newExecutor(cfg *rest.Config, to *url.URL) (remotecommand.Executor, error) {
	upgrade, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{UpgradeTransport: cfg.Transport})
	if err != nil {
		return nil, err
	}
	transport, err := rest.HTTPWrappersForConfig(cfg, upgrade)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewSPDYExecutorForTransports(transport, upgrade, "POST", to)
}

// startShop starts a cluster with the Pod db, whose function sends back at port 5432 of localhost what it reads, and writes a line each minute.
func startShop(t *testing.T) (*remote.Cluster, *rest.Config, kubernetes.Interface) {
	c := remote.Start(t, remote.Workloads("nodes: 1"), remote.Image("db", func(ctx context.Context, p *remote.Container) error {
		l, err := p.Listen("tcp", "127.0.0.1:5432")
		if err != nil {
			return err
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() { _, _ = io.Copy(conn, conn) }()
			}
		}()
		for {
			select {
			case <-ctx.Done():
				return l.Close()
			case now := <-time.After(time.Minute):
				fmt.Fprintln(p.Stdout, "it is", now.Format(time.TimeOnly))
			}
		}
	}))
	cfg := &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}
	clients := kubernetes.NewForConfigOrDie(cfg)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "db",
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"nc", "-z", "localhost", "5432"}}}}}}}}
	if _, err := clients.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.WaitFor(t, pod, remote.HasCondition("Ready"))
	return c, cfg, clients
}

// subresource returns the URL of a subresource of the Pod db.
func subresource(clients kubernetes.Interface, name string, options runtime.Object) *url.URL {
	return clients.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("db").SubResource(name).VersionedParams(options, scheme.ParameterCodec).URL()
}

// The executors and dialers of client-go work with the transport of a cluster, in bubbles and outside.
func TestClientGoUpgradesConnections(t *testing.T) {
	for name, run := range map[string]func(*testing.T, func(*testing.T)){
		"outside": func(t *testing.T, test func(*testing.T)) { test(t) }, "in a bubble": synctest.Test,
	} {
		t.Run(name, func(t *testing.T) { run(t, testUpgrades) })
	}
}

func testUpgrades(t *testing.T) {
	_, cfg, clients := startShop(t)
	executor, err := newExecutor(cfg, subresource(clients, "exec", &corev1.PodExecOptions{Command: []string{"sh", "-c", "cat; echo wrong >&2; exit 3"}, Stdin: true, Stdout: true, Stderr: true}))
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	err = executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader("some text"), Stdout: &stdout, Stderr: &stderr})
	if err == nil || err.Error() != "command terminated with exit code 3" || stdout.String() != "some text" || stderr.String() != "wrong\n" {
		t.Errorf("exec: %q, %q, %v", stdout.String(), stderr.String(), err)
	}

	upgrade, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{UpgradeTransport: cfg.Transport})
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.HTTPWrappersForConfig(cfg, upgrade)
	if err != nil {
		t.Fatal(err)
	}
	connection, protocol, err := clientspdy.NewDialer(upgrade, &http.Client{Transport: transport}, "POST", subresource(clients, "portforward", &corev1.PodPortForwardOptions{})).Dial("portforward.k8s.io")
	if err != nil || protocol != "portforward.k8s.io" {
		t.Fatal(protocol, err)
	}
	defer connection.Close()
	header := http.Header{}
	header.Set(corev1.PortHeader, "5432")
	header.Set(corev1.PortForwardRequestIDHeader, "0")
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	if _, err := connection.CreateStream(header); err != nil {
		t.Fatal(err)
	}
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(header)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(data, "select 1"); err != nil {
		t.Fatal(err)
	}
	back := make([]byte, len("select 1"))
	if _, err := io.ReadFull(data, back); err != nil || string(back) != "select 1" {
		t.Errorf("what comes back: %q, %v", back, err)
	}
}

// Logs are followed and containers attached while time passes.
func TestStreamsInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, cfg, clients := startShop(t)
		log, err := clients.CoreV1().Pods("default").GetLogs("db", &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		began, lines := time.Now(), bufio.NewScanner(log)
		for range 60 {
			if !lines.Scan() {
				t.Fatal(lines.Err())
			}
		}
		if passed := time.Since(began); passed < 59*time.Minute || passed > 61*time.Minute {
			t.Errorf("60 lines after %v", passed)
		}

		executor, err := newExecutor(cfg, subresource(clients, "attach", &corev1.PodAttachOptions{Stdout: true}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var stdout strings.Builder
		err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &stdout})
		if n := strings.Count(stdout.String(), "it is "); !errors.Is(err, context.DeadlineExceeded) || n < 9 || n > 10 {
			t.Errorf("attached for ten minutes: %d lines, %v", n, err)
		}
	})
}

// What a handler finds in the field TLS of its request is the same in process and through remote.
func TestTLSOfARequestIsThatInProcess(t *testing.T) {
	serve := func(states chan<- *tls.ConnectionState) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if strings.HasSuffix(req.URL.Path, "/things") { // and not for discovery
				states <- req.TLS
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "tests.example.com/v1", "resources": []}`)
		})
	}
	get := func(cfg *rest.Config, states <-chan *tls.ConnectionState) *tls.ConnectionState {
		t.Helper()
		if _, err := kubernetes.NewForConfigOrDie(cfg).RESTClient().Get().AbsPath("/apis/tests.example.com/v1/things").DoRaw(t.Context()); err != nil {
			t.Fatal(err)
		}
		return <-states
	}
	apiService := "testdata/apiservice.yaml"
	statesHere, statesThere := make(chan *tls.ConnectionState, 1), make(chan *tls.ConnectionState, 1)
	here := fakecluster.Start(t, fakecluster.WithService("default", "api", 443, serve(statesHere)), fakecluster.WithManifests(apiService))
	there := remote.Start(t, remote.Service("default", "api", 443, serve(statesThere)), remote.Manifests(apiService))
	want, got := get(here.RESTConfig(), statesHere), get(&rest.Config{Host: there.URL(), BearerToken: there.Token(), QPS: -1}, statesThere)
	// Go has the field CurveID since 1.25 only, so it stays empty through remote.
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(tls.ConnectionState{}), cmpopts.IgnoreFields(tls.ConnectionState{}, "CurveID")); want == nil || diff != "" {
		t.Errorf("(-in process +remote):\n%s", diff)
	}
}
