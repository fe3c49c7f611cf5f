package images

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"k8s.io/client-go/util/cert"
	"k8s.io/kubernetes/test/images/agnhost/crd-conversion-webhook/converter"
	upstream "k8s.io/kubernetes/test/images/agnhost/webhook"

	"github.com/fakecluster/fakecluster/workloads"
)

// webhook reviews admissions of the suite with agnhost's own handlers.
func webhook(ctx context.Context, c *workloads.ExecCommand) error {
	handler, err := admissionHandlers()
	if err != nil {
		return err
	}
	return serveTLS(ctx, c, handler)
}

// admissionHandlers returns the mux where agnhost registers its handlers, which it does not export. Its command registers
// them and then serves; a port that does not exist ends it there.
var admissionHandlers = sync.OnceValues(func() (handler http.Handler, err error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "agnhost-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for name, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	command := upstream.CmdWebhook
	if err := command.Flags().Parse([]string{
		"--port=70000", "--tls-cert-file=" + filepath.Join(dir, "tls.crt"), "--tls-private-key-file=" + filepath.Join(dir, "tls.key"),
	}); err != nil {
		return nil, err
	}
	defer func() {
		if recover() == nil {
			handler, err = nil, fmt.Errorf("agnhost's webhook serves the port 70000")
		}
	}()
	handler = http.DefaultServeMux
	command.Run(command, nil)
	return nil, nil
})

// conversionWebhook converts custom resources of the suite.
func conversionWebhook(ctx context.Context, c *workloads.ExecCommand) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/crdconvert", converter.ServeExampleConvert)
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	return serveTLS(ctx, c, mux)
}

// serveTLS serves with the flags that the webhooks have.
func serveTLS(ctx context.Context, c *workloads.ExecCommand, handler http.Handler) error {
	port := 443
	var certificate, key string
	if _, err := flagsOf(c, func(f *flag.FlagSet) {
		f.IntVar(&port, "port", port, "")
		f.StringVar(&certificate, "tls-cert-file", "", "")
		f.StringVar(&key, "tls-private-key-file", "", "")
		f.String("sidecar-image", "", "")
		f.Bool("alsologtostderr", false, "")
		f.Int("v", 0, "")
	}); err != nil {
		return err
	}
	config, err := tlsOf(c.Container, certificate, key)
	if err != nil {
		return err
	}
	l, err := c.Container.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return err
	}
	return serveOn(ctx, l, &http.Server{Handler: handler, TLSConfig: config})
}
