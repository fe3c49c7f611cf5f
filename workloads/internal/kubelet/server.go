package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// Node is the node that the API shows. Its methods are safe for concurrent use, and their results are read-only.
type Node interface {
	// Name returns the name of the node.
	Name() string
	// Pods returns the pods of the node with the statuses that its kubelet has, in the order of their namespaces and
	// names.
	Pods() []*corev1.Pod
	// Pod returns one of them; nil: it does not exist.
	Pod(namespace, name string) *corev1.Pod
	// Container returns a start of a container of a pod, by the ID in its status; nil: it no longer exists.
	Container(pod *corev1.Pod, id string) *Container
	// Running returns the running start of a container of a pod, by its name; nil: there is none.
	Running(pod *corev1.Pod, name string) *Container
	// Dialer returns a function that connects to addresses inside a pod, such as 127.0.0.1:8080; nil: the pod does not
	// run.
	Dialer(pod *corev1.Pod) func(ctx context.Context, network, address string) (net.Conn, error)
	// Spec returns the Node as it is registered, with its capacity and nodeInfo.
	Spec() *corev1.Node
	// Counts returns the counts of the kubelet.
	Counts() Counts
	// Probes returns the counts of the probes of the pods.
	Probes() map[Probe]Probes
	// Usage returns the use of resources by the running containers of a pod, by their names.
	Usage(pod *corev1.Pod) map[string]corev1.ResourceList
}

// Container is a start of a container.
type Container struct {
	ID    string
	Log   *stdio.Log
	Stdin *stdio.Input // nil: its specification does not have stdin
	Exec  stdio.Exec
}

// Server serves the API of the kubelet of a node.
type Server struct {
	node     Node
	http     http.Server
	secure   http.Server // for clients other than the API server
	handlers sync.WaitGroup
	end      context.CancelFunc
}

// NewServer returns a server for a node. The logger gets the messages of the streaming libraries, for example about
// clients that leave.
func NewServer(node Node, logger klog.Logger) *Server {
	s := &Server{node: node}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthy)
	mux.HandleFunc("GET /healthz/{check}", healthy)
	mux.HandleFunc("GET /pods", s.pods)
	mux.HandleFunc("GET /pods/{$}", s.pods)
	mux.HandleFunc("GET /runningpods/{$}", s.runningPods)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.logs)
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", s.exec)
	mux.HandleFunc("/portForward/{namespace}/{pod}", s.portForward)
	mux.HandleFunc("/attach/{namespace}/{pod}/{container}", s.attach)
	mux.HandleFunc("GET /stats/summary", s.summary)
	mux.Handle("GET /metrics", nodeMetrics(node))
	mux.Handle("GET /metrics/cadvisor", cadvisorMetrics(node))
	mux.Handle("GET /metrics/probes", probeMetrics(node))
	mux.Handle("GET /metrics/resource", resourceMetrics(node))
	mux.HandleFunc("GET /logs/{$}", nodeLogs)
	ctx, end := context.WithCancel(klog.NewContext(context.Background(), logger))
	s.end = end
	s.http = http.Server{
		ErrorLog:    log.New(io.Discard, "", 0), // it has panics of handlers whose client has left
		BaseContext: func(net.Listener) context.Context { return ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			s.handlers.Add(1)
			defer s.handlers.Done()
			mux.ServeHTTP(w, req)
		}),
	}
	return s
}

// Serve serves connections of the API server until Close. It returns an error of the listener.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Close ends all requests, and waits until they have ended. The caller must close the connections of streams before.
func (s *Server) Close() {
	s.end()
	_ = s.http.Close()
	_ = s.secure.Close()
	s.handlers.Wait()
}

func healthy(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

// pods lists the pods of the node.
func (s *Server) pods(w http.ResponseWriter, _ *http.Request) {
	list := &corev1.PodList{Items: []corev1.Pod{}}
	for _, p := range s.node.Pods() {
		list.Items = append(list.Items, *p)
	}
	writePods(w, list)
}

// runningPods lists the names of the pods with containers, as a container runtime knows them.
func (s *Server) runningPods(w http.ResponseWriter, _ *http.Request) {
	list := &corev1.PodList{Items: []corev1.Pod{}}
	for _, p := range s.node.Pods() {
		running := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: p.UID}}
		for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses} {
			for i := range statuses {
				if statuses[i].State.Running != nil {
					running.Spec.Containers = append(running.Spec.Containers, corev1.Container{Name: statuses[i].Name, Image: statuses[i].Image})
				}
			}
		}
		if len(running.Spec.Containers) > 0 {
			list.Items = append(list.Items, running)
		}
	}
	writePods(w, list)
}

func writePods(w http.ResponseWriter, list *corev1.PodList) {
	data, err := runtime.Encode(legacyscheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion), list)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

// nodeLogs lists the files of /var/log on the node, of which there are none.
func nodeLogs(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<!doctype html>\n<meta name=\"viewport\" content=\"width=device-width\">\n<pre>\n</pre>\n")
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the client may have left
}

// fail answers with an error, as a kubelet does.
func fail(w http.ResponseWriter, code int, err error) {
	w.WriteHeader(code)
	_, _ = io.WriteString(w, err.Error())
}
