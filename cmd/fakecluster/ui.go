package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// serveUI serves the page of a cluster on a loopback port, and returns its address. The page asks for no
// credentials, so that its path is a secret: other users of the machine cannot guess it, nor can a page of
// another site that a browser shows.
func serveUI(c *fakecluster.Cluster) (url string, end func() error, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("ui: %w", err)
	}
	secret := "/" + rand.Text()
	mux := http.NewServeMux()
	mux.Handle(secret+"/", http.StripPrefix(secret, c.ReportPage("fakecluster serve")))
	handler := forHost(l.Addr().String(), mux)
	ctx, cancel := context.WithCancel(context.Background())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	return "http://" + l.Addr().String() + secret + "/", func() error {
		cancel()
		_ = server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("ui: %w", err)
		}
		return nil
	}, nil
}

// forHost rejects requests for other hosts than an address of the loopback device. A page of another
// site may have the browser resolve the name of its own site to that address (DNS rebinding).
func forHost(address string, next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(address)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Host != address && req.Host != net.JoinHostPort("localhost", port) {
			http.Error(w, fmt.Sprintf("the host has to be %s, not %q", address, req.Host), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, req)
	})
}
