package server

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/fakecluster/fakecluster/internal/admission/plugins"
	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
)

// Who changes the address of a webhook again and again makes a client each time.
func TestClientsOfWebhooksAreBounded(t *testing.T) {
	h, err := newHooks(crd.Outside{Closing: context.Background()}, nil, nil, plugins.Configuration{})
	if err != nil {
		t.Fatal(err)
	}
	closed := &idle{}
	for n := range 3 * maxHookClients {
		config := webhook.ClientConfig{Name: "w", URL: fmt.Sprintf("https://127.0.0.1:1/%d", n)}
		client, err := h.client(config, n%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := h.client(config, n%2 == 0); err != nil || again != client {
			t.Fatalf("the client of %s was made twice, %v", config.URL, err)
		}
		client.Client.Transport = closed
	}
	if got, want := h.used.Len(), 2*maxHookClients; got != want || closed.times != maxHookClients {
		t.Errorf("%d clients are kept, want %d; the connections of %d are closed, want %d", got, want, closed.times, maxHookClients)
	}
	h.close()
	if h.used.Len() != 0 || closed.times != 3*maxHookClients {
		t.Errorf("after the end %d clients are kept, and the connections of %d were closed", h.used.Len(), closed.times)
	}
}

// A webhook that can speak HTTP/2 would wait for its connections when it is shut down.
func TestWebhooksAreCalledByHTTP1(t *testing.T) {
	said := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { said <- r.Proto }))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for _, mutating := range []bool{true, false} {
		h, err := newHooks(crd.Outside{Closing: t.Context()}, nil, &faultinjection.Engine{}, plugins.Configuration{})
		if err != nil {
			t.Fatal(err)
		}
		client, err := h.client(webhook.ClientConfig{Name: "w", URL: server.URL, CABundle: authority}, mutating)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Post().Do(t.Context()).Error(); err != nil {
			t.Fatal(err)
		}
		if got := <-said; got != "HTTP/1.1" {
			t.Errorf("mutating %t: called by %s", mutating, got)
		}
		h.close()
	}
}

// idle is a transport that counts how often its idle connections are closed.
type idle struct {
	http.RoundTripper
	times int
}

func (i *idle) CloseIdleConnections() { i.times++ }
