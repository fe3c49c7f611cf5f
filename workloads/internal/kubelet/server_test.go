package kubelet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// single is a Node with the pod web, whose container app does not run.
type single struct{ Node }

func (single) Name() string                                                               { return "n1" }
func (single) Pods() []*corev1.Pod                                                        { return []*corev1.Pod{single{}.Pod("default", "web")} }
func (single) Running(*corev1.Pod, string) *Container                                     { return nil }
func (single) Container(*corev1.Pod, string) *Container                                   { return nil }
func (single) Dialer(*corev1.Pod) func(context.Context, string, string) (net.Conn, error) { return nil }

func (single) Pod(namespace, name string) *corev1.Pod {
	if namespace != "default" || name != "web" {
		return nil
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}}}
	pod.Namespace, pod.Name = namespace, name
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, ContainerID: "containerd://1"}}
	return pod
}

// TestAnswersWithoutAContainer compares the errors with those of a kubelet.
func TestAnswersWithoutAContainer(t *testing.T) {
	server := NewServer(single{}, logr.Discard())
	for _, test := range []struct {
		request string
		code    int
		want    string
	}{
		{"GET /healthz", 200, "ok"},
		{"GET /healthz/ping", 200, "ok"},
		{"GET /nothing", 404, "404 page not found\n"},
		{"GET /containerLogs/default/web/app", 400, "unable to retrieve container logs for containerd://1"},
		{"GET /containerLogs/default/web/app?tailLines=x", 400, `{"message": "Unable to decode query."}`},
		{"GET /containerLogs/default/web/none", 404, `container "none" not found in pod "web"`},
		{"GET /containerLogs/default/none/app", 404, `pod "none" does not exist`},
		{"POST /exec/default/web/app?output=1&command=ls", 500, `container not found ("app")`},
		{"POST /exec/default/web/app?command=ls", 400, "you must specify at least 1 of stdin, stdout, stderr"},
		{"POST /exec/default/none/app?output=1&command=ls", 404, "pod does not exist"},
		{"POST /attach/default/web/app?output=1", 500, "container app not found in pod web_default"},
		{"POST /attach/other/web/app?output=1", 404, "pod does not exist"},
		{"POST /portForward/default/none", 404, "pod does not exist"},
		{"POST /portForward/default/web", 500, `pod not found ("web_default")`},
	} {
		t.Run(test.request, func(t *testing.T) {
			method, path := test.request[:4], test.request[5:]
			if method == "GET " {
				method, path = "GET", test.request[4:]
			}
			w := httptest.NewRecorder()
			server.http.Handler.ServeHTTP(w, httptest.NewRequest(method, path, nil))
			if w.Code != test.code || w.Body.String() != test.want {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, test.code, test.want)
			}
		})
	}
}

func TestAPortThatNobodyListensAt(t *testing.T) {
	client, stream := net.Pipe()
	defer client.Close()
	err := forwarder(func(_ context.Context, network, address string) (net.Conn, error) {
		return nil, errors.New("dial " + network + " " + address + ": connect: connection refused")
	}).PortForward(t.Context(), "web", "u", 80, stream)
	const want = `failed to execute portforward in network namespace of pod "u": failed to connect to localhost:80 inside namespace "u", IPv4: ` +
		"dial tcp4 127.0.0.1:80: connect: connection refused"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// running is single, whose container runs.
type running struct{ single }

func (running) Running(*corev1.Pod, string) *Container {
	return &Container{ID: "1", Exec: func(context.Context, []string, stdio.Streams) (int, error) { return 0, nil }}
}

// TestLibrariesOfStreamsLogToTheLogger ends a WebSocket, about which they write a line.
func TestLibrariesOfStreamsLogToTheLogger(t *testing.T) {
	logged := make(chan string, 10)
	server := NewServer(running{}, funcr.New(func(_, line string) { logged <- line }, funcr.Options{}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	config, err := websocket.NewConfig("ws://"+l.Addr().String()+"/exec/default/web/app?output=1&command=ls", "http://localhost")
	if err != nil {
		t.Fatal(err)
	}
	config.Protocol = []string{"v4.channel.k8s.io"}
	conn, err := websocket.DialConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, conn) // until the program has ended
	_ = conn.Close()
	if line := <-logged; !strings.HasPrefix(line, `"logger"="" "msg"="Error on socket receive"`) && !strings.HasPrefix(line, `"msg"="Error on socket receive"`) {
		t.Errorf("it logs %s", line)
	}
	server.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
