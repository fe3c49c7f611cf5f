package host

import (
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"
)

// strayAddress returns the address of clusters in bubbles. A client that connects to it does not use the transport of
// the cluster, and gets an error that says how to use it.
func (h *Host) strayAddress() (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stray != nil {
		return "http://" + h.stray.Addr().String(), nil
	}
	if h.closed {
		return "", errors.New("the host has ended")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	h.stray = l
	go func() {
		_ = (&http.Server{Handler: http.HandlerFunc(h.serveStray), ReadHeaderTimeout: 10 * time.Second}).Serve(l) // until Close
	}()
	return "http://" + l.Addr().String(), nil
}

// strayText is the error for a client with its own transport.
const strayText = "the cluster lives in a synctest bubble, where a socket stops the time: give the client the transport of the cluster, " +
	"as in &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1} or &http.Client{Transport: c.Transport()}"

// strayUpgradeText is the error for a client that upgrades its own connection, as the executors and dialers of client-go do.
const strayUpgradeText = "the cluster lives in a synctest bubble, where a socket stops the time, and remotecommand.NewSPDYExecutor, remotecommand.NewWebSocketExecutor and spdy.RoundTripperFor open one: " +
	"write c.Exec, c.AttachPod or c.PortForward, or make the executor with spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{UpgradeTransport: c.Transport()})"

// serveStray rejects a request of a client with its own transport. It also reports the mistake to the bubble of the
// cluster, which it finds by the token.
func (h *Host) serveStray(w http.ResponseWriter, req *http.Request) {
	token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	text := strayText
	if req.Header.Get("Upgrade") != "" {
		text = strayUpgradeText
	}
	h.mu.Lock()
	told := map[*driver]bool{}
	for _, c := range h.clusters {
		if c.driver != nil && subtle.ConstantTimeCompare([]byte(c.token), []byte(token)) == 1 {
			told[c.driver] = true
		}
	}
	h.mu.Unlock()
	for d := range told {
		d.mistake(text)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Connection", "close") // leaves no goroutine in the client's bubble
	w.WriteHeader(http.StatusBadRequest)
	_ = encode(w, map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": struct{}{}, "status": "Failure", "reason": "BadRequest", "code": http.StatusBadRequest, "message": text}) // the client may have gone
}
