package crd

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// call asks a handler what a cluster would ask a webhook.
func call(t *testing.T, closing context.Context, question string, h http.HandlerFunc) (*http.Response, error) {
	t.Helper()
	webhook := httptest.NewServer(h)
	t.Cleanup(webhook.Close)
	config, err := Outside{Closing: closing}.Anonymous().ClientConfigFor("")
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client.Post(webhook.URL, "application/json", strings.NewReader(question))
}

func TestAnswersOfWebhooksAreBounded(t *testing.T) {
	endless := func(w http.ResponseWriter, _ *http.Request) {
		for chunk := make([]byte, 64<<10); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	for _, tt := range []struct {
		rule, question string
		limit          int64
		message        string
	}{
		{"after 16 MiB", "", 16 << 20, "the answer of the webhook is longer than 16777216 bytes"},
		{"later for a large question", strings.Repeat("x", 1<<20), 24 << 20, "the answer of the webhook is longer than 25165824 bytes"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			res, err := call(t, t.Context(), tt.question, endless)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			n, err := io.Copy(io.Discard, res.Body)
			if n != tt.limit || err == nil || err.Error() != tt.message {
				t.Errorf("read %d bytes until %v", n, err)
			}
		})
	}
	t.Run("an answer of just that length is read", func(t *testing.T) {
		res, err := call(t, t.Context(), "", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxAnswer)) })
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if n, err := io.Copy(io.Discard, res.Body); n != maxAnswer || err != nil {
			t.Errorf("read %d bytes until %v", n, err)
		}
	})
}

func TestCallsOfWebhooksEndWithTheCluster(t *testing.T) {
	// Each waits until its caller has gone.
	silent := func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }
	halfway := func(w http.ResponseWriter, req *http.Request) {
		_, _ = w.Write([]byte(`{"response":`))
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	}
	t.Run("before the answer", func(t *testing.T) {
		closing, closes := context.WithCancel(t.Context())
		_, err := call(t, closing, "", func(w http.ResponseWriter, req *http.Request) {
			closes()
			silent(w, req)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
	})
	t.Run("while it waits until it may try again", func(t *testing.T) {
		closing, closes := context.WithCancel(t.Context())
		_, err := call(t, closing, "", func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
			w.(http.Flusher).Flush()
			closes()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
	})
	t.Run("in the middle of the answer", func(t *testing.T) {
		closing, closes := context.WithCancel(t.Context())
		res, err := call(t, closing, "", halfway)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		closes()
		if read, err := io.ReadAll(res.Body); !errors.Is(err, context.Canceled) {
			t.Errorf("read %q until %v", read, err)
		}
	})
}
