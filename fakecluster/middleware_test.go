package fakecluster_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// panicking is a middleware that panics over some paths.
func panicking(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case strings.HasSuffix(req.URL.Path, "/abort"):
			panic(http.ErrAbortHandler)
		case strings.HasSuffix(req.URL.Path, "/poison"):
			w.Header().Set("Content-Length", "1000")
			panic("the middleware has a bug")
		}
		next.ServeHTTP(w, req)
	})
}

// A middleware that panics is answered for as the server itself, in each way in, and the next request is served over the
// same connection. A middleware that aborts a request ends it without a response.
func TestAPanicInAMiddlewareIsA500(t *testing.T) {
	for name, options := range map[string][]fakecluster.Option{
		"HTTP/1.1": nil, "HTTP/2": {fakecluster.WithTLS()}, "in process": {fakecluster.InProcess()},
	} {
		t.Run(name, func(t *testing.T) {
			tb := &failing{TB: t}
			started := fakecluster.Start(tb, append(options, fakecluster.WithMiddleware(panicking))...)
			for _, c := range []*fakecluster.Cluster{started, started.Fork(t)} {
				configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
				_, err := configMaps.Get(t.Context(), "poison", metav1.GetOptions{})
				if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "This request caused apiserver to panic. Look in the logs for details.") {
					t.Errorf("get: %v", err)
				}
				if _, err = configMaps.Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{}); err != nil && !apierrors.IsNotFound(err) {
					t.Error(err)
				}

				cfg := c.RESTConfig()
				client, err := clientrest.HTTPClientFor(cfg)
				must(t, err)
				resp, err := client.Get(cfg.Host + "/poison")
				must(t, err)
				text, err := io.ReadAll(resp.Body)
				must(t, err)
				must(t, resp.Body.Close())
				equal(t, "the response", []any{resp.StatusCode, resp.Header.Get("Content-Type"), string(text)},
					[]any{500, "text/plain; charset=utf-8", "This request caused apiserver to panic. Look in the logs for details.\n"})
				equal(t, "the connection ends", resp.Close, false)
				if resp, err := client.Get(cfg.Host + "/abort"); err == nil {
					resp.Body.Close()
					t.Errorf("a request that is aborted: %d", resp.StatusCode)
				}
			}
			tb.failed = true
			if log := tb.end(); !strings.Contains(log, "WithMiddleware: /poison: the middleware has a bug (") {
				t.Errorf("the log lacks the panic: %s", log)
			}
		})
	}
}
