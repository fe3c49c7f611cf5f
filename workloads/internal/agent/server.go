package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/util/cert"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/metrics"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
)

// serve serves metrics.k8s.io and the actions on nodes until the context ends. It returns the address.
func serve(ctx context.Context, agent *node.Agent, programs *cri.Programs, shared informers.SharedInformerFactory) (*net.TCPAddr, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		return nil, err
	}
	core := shared.Core().V1()
	mux := http.NewServeMux()
	mux.Handle("/", &metrics.Handler{
		Pods: core.Pods().Lister(), Nodes: core.Nodes().Lister(), Reports: agent.Reports,
		Usage: func(pod *corev1.Pod) (map[string]corev1.ResourceList, bool) {
			return programs.Usage(pod), agent.Reports(pod.Spec.NodeName)
		},
	})
	handleAction(mux, agent, "heartbeats/stop", func(r *http.Request, n *node.Node) error { return n.StopHeartbeats(r.Context()) })
	handleAction(mux, agent, "heartbeats/resume", func(r *http.Request, n *node.Node) error { return n.ResumeHeartbeats(r.Context()) })
	handleAction(mux, agent, "pressure/{condition}/{on}", func(r *http.Request, n *node.Node) error {
		return n.SetPressure(r.Context(), corev1.NodeConditionType(r.PathValue("condition")), r.PathValue("on") == "on")
	})
	// Do not log clients that do not trust the certificate at first.
	server := &http.Server{Handler: mux, ErrorLog: log.New(io.Discard, "", 0)}
	go server.Serve(listener)
	context.AfterFunc(ctx, func() { server.Close() })
	return listener.Addr().(*net.TCPAddr), nil
}

// handleAction serves an action on a node.
func handleAction(mux *http.ServeMux, agent *node.Agent, path string, do func(*http.Request, *node.Node) error) {
	mux.HandleFunc("POST /nodes/{name}/"+path, func(w http.ResponseWriter, r *http.Request) {
		n, err := agent.Node(r.PathValue("name"))
		if err == nil {
			err = do(r, n)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
}
