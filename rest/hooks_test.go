package rest

import (
	"context"
	"fmt"
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
	for n := range 3 * maxHookClients {
		config := webhook.ClientConfig{Name: "w", URL: fmt.Sprintf("https://127.0.0.1:1/%d", n)}
		client, err := h.client(config, n%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := h.client(config, n%2 == 0); err != nil || again != client {
			t.Fatalf("the client of %s was made twice, %v", config.URL, err)
		}
	}
	if got, want := h.used.Len(), 2*maxHookClients; got != want {
		t.Errorf("%d clients are kept, want %d", got, want)
	}
	h.close()
	if h.used.Len() != 0 {
		t.Error("clients are kept after the end")
	}
}
