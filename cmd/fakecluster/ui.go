package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// serveUI serves the page of a cluster on a loopback port, and returns its address. The page needs no
// credentials. Instead its path is a secret, which neither other users of the machine nor pages of other
// sites in a browser can guess. The check of the Host rejects such pages, too.
func serveUI(c *fakecluster.Cluster) (url string, end func() error, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("ui: %w", err)
	}
	secret := "/" + rand.Text()
	mux := http.NewServeMux()
	mux.Handle(secret+"/", http.StripPrefix(secret, c.ReportPage("fakecluster serve")))
	ctx, cancel := context.WithCancel(context.Background())
	server := &http.Server{Handler: onlyLoopback(l.Addr().(*net.TCPAddr).Port, mux), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
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

// onlyLoopback rejects requests whose Host is not a loopback address or localhost with the port. The page of
// another site whose name has been pointed to this machine (DNS rebinding) sends that name.
func onlyLoopback(port int, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name, given, err := net.SplitHostPort(req.Host)
		address := net.ParseIP(name)
		if err != nil || given != strconv.Itoa(port) || !strings.EqualFold(name, "localhost") && !address.IsLoopback() {
			http.Error(w, fmt.Sprintf("this page is served at 127.0.0.1:%d only, and not at %.100q", port, req.Host), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, req)
	})
}
