package cluster

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/fakecluster/fakecluster/internal/admission/intree"
	"github.com/fakecluster/fakecluster/internal/crd"
)

// Who changes the address of a webhook again and again makes a client each time.
func TestClientsOfWebhooksAreBounded(t *testing.T) {
	h, err := newHooks(crd.Outside{Closing: context.Background()}, nil, intree.Configuration{})
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

// idle is a transport that counts how often its idle connections are closed.
type idle struct {
	http.RoundTripper
	times int
}

func (i *idle) CloseIdleConnections() { i.times++ }
