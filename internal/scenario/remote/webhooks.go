package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// A cluster outside of this process has no services for the webhooks of a scenario. If its API server runs on this
// machine, it can call them at a local address. So this file serves the webhooks, and replaces references to their
// services in configurations by that address.

// webhookServers serves the webhooks of a scenario to an API server outside of this process.
type webhookServers struct {
	authority *authentication.Authority
	servers   []*http.Server
	serving   sync.WaitGroup
	// called: the API server has called one.
	called    atomic.Bool
	addresses []*serviceAddress
}

// serviceAddress has the addresses of a service: inside is the one in the scenario and in messages of the server,
// outside the one that is served.
type serviceAddress struct {
	player.Service
	inside, outside string
	// field matches the address in an answer. referred: a configuration has referred to the service.
	field    *regexp.Regexp
	referred atomic.Bool
}

// markerPath is the path of the webhooks of markers.
const markerPath = "/fakecluster-marker/"

// serveWebhooks serves the services of a scenario.
func (c *remoteCluster) serveWebhooks(services []player.Service) (err error) {
	c.webhooks = &webhookServers{}
	if c.webhooks.authority, err = authentication.NewAuthority("fakecluster scenarios"); err != nil {
		return err
	}
	certificate, err := c.webhooks.authority.ServerCertificate("localhost")
	if err != nil {
		return err
	}
	for _, s := range services {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		server := &http.Server{
			Handler: c.webhookHandler(s.Handler), ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
			TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // no HTTP/2, so that a webhook can close its connection
		}
		c.webhooks.servers = append(c.webhooks.servers, server)
		c.webhooks.serving.Go(func() { _ = server.ServeTLS(listener, "", "") }) // until close
		inside := fmt.Sprintf("https://%s.%s.svc:%d", s.Name, s.Namespace, s.Port)
		c.webhooks.addresses = append(c.webhooks.addresses, &serviceAddress{
			Service: s, inside: inside, outside: "https://" + listener.Addr().String(), field: regexp.MustCompile(`"url":"` + regexp.QuoteMeta(inside) + `(/[^"]*)?"`),
		})
	}
	return nil
}

// close closes the servers and waits for them.
func (h *webhookServers) close() error {
	if h == nil {
		return nil
	}
	var failed []error
	for _, server := range h.servers {
		failed = append(failed, server.Close())
	}
	h.serving.Wait()
	return errors.Join(failed...)
}

// toCluster replaces the addresses in the scenario by those outside.
func (h *webhookServers) toCluster(text string) string {
	if h != nil {
		for _, a := range h.addresses {
			text = strings.ReplaceAll(text, a.inside, a.outside)
		}
	}
	return text
}

// toScenario replaces the addresses outside by those in the scenario.
func (h *webhookServers) toScenario(text []byte) []byte {
	if h != nil {
		for _, a := range h.addresses {
			text = bytes.ReplaceAll(text, []byte(a.outside), []byte(a.inside))
			if a.referred.Load() {
				text = a.field.ReplaceAllFunc(text, a.reference)
			}
		}
	}
	return text
}

// reference returns the reference to the service that a configuration had in place of its address.
func (a *serviceAddress) reference(found []byte) []byte {
	service := map[string]any{"namespace": a.Namespace, "name": a.Name, "port": a.Port}
	if path := string(a.field.FindSubmatch(found)[1]); path != "" {
		service["path"] = path
	}
	data, err := json.Marshal(map[string]any{"service": service})
	if err != nil {
		panic(err) // it is made of texts and a number
	}
	return data[1 : len(data)-1] // the field alone
}

// rewriteClientConfig replaces a reference to a service of the scenario by its address.
func (h *webhookServers) rewriteClientConfig(config any) {
	fields, _ := config.(map[string]any)
	reference, _ := fields["service"].(map[string]any)
	if h == nil || reference == nil {
		return
	}
	port := fmt.Sprint(syntax.DefaultPort)
	if given, ok := reference["port"]; ok {
		port = fmt.Sprint(given)
	}
	for _, a := range h.addresses {
		if reference["namespace"] == a.Namespace && reference["name"] == a.Name && port == fmt.Sprint(a.Port) {
			path, _ := reference["path"].(string)
			delete(fields, "service")
			fields["url"] = a.inside + path
			a.referred.Store(true)
		}
	}
}

// webhookHandler translates names in the calls and answers of a webhook. It answers requests for markers itself.
func (c *remoteCluster) webhookHandler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.webhooks.called.Store(true)
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller has gone
		}
		if bytes.Contains(data, []byte(`"`+c.prefix+`-marker"`)) {
			c.answerMarker(w, r, data)
			return
		}
		data = c.toScenario(data)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		answer := &bufferedWriter{ResponseWriter: w, code: http.StatusOK}
		next.ServeHTTP(answer, r)
		w.WriteHeader(answer.code)
		_, _ = io.WriteString(w, c.prefixGroups(string(c.bodyToCluster(answer.body.Bytes())))) // a caller that has gone misses nothing
	})
}

// answerMarker allows a dry run of the runner, but denies it if the webhook of the marker is called.
func (c *remoteCluster) answerMarker(w http.ResponseWriter, r *http.Request, data []byte) {
	var review struct {
		APIVersion string `json:"apiVersion"`
		Request    struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err := json.Unmarshal(data, &review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response := map[string]any{"uid": review.Request.UID, "allowed": true}
	if mark, isMarker := strings.CutPrefix(r.URL.Path, markerPath); isMarker {
		response["allowed"], response["status"] = false, map[string]any{"message": "marked " + mark}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": "AdmissionReview", "response": response})
}

// bufferedWriter keeps the answer of a webhook.
type bufferedWriter struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

func (w *bufferedWriter) WriteHeader(code int) { w.code = code }

func (w *bufferedWriter) Write(data []byte) (int, error) { return w.body.Write(data) }

// reachability finds out, once for all scenarios, whether the API server can call webhooks of this machine.
type reachability struct {
	mu        sync.Mutex
	checked   bool
	reachable bool
}

// check returns an error if it cannot.
func (r *reachability) check(c *remoteCluster) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.checked {
		c.notePolicyWrite("validatingwebhookconfiguration")
		if err := c.waitForPolicies(context.Background()); err != nil {
			return err
		}
		r.checked, r.reachable = true, c.webhooks.called.Load()
	}
	if !r.reachable {
		return player.SkipError("this cluster cannot reach the webhooks of a scenario")
	}
	return nil
}
