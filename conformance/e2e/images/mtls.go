package images

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/fakecluster/fakecluster/workloads"
)

// mtlsServer answers clients that have a certificate with the name in it.
func mtlsServer(ctx context.Context, c *workloads.ExecCommand) error {
	var listen, credentials, trust string
	if _, err := flagsOf(c, func(f *flag.FlagSet) {
		f.StringVar(&listen, "listen", "", "")
		f.StringVar(&credentials, "server-creds", "", "")
		f.StringVar(&trust, "spiffe-trust-bundle", "", "")
	}); err != nil {
		return err
	}
	pair, err := credentialBundle(c.Container, credentials)
	if err != nil {
		return err
	}
	l, err := c.Container.Listen("tcp", listen)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /spiffe-echo", func(w http.ResponseWriter, r *http.Request) {
		name, err := nameOfClient(c.Container, trust, r.TLS.PeerCertificates)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "Client Identity: ", name)
	})
	return serveOn(ctx, l, &http.Server{Handler: mux, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert,
	}})
}

// nameOfClient returns the URI in the certificate of a client, which has to be trusted.
func nameOfClient(c *workloads.Container, trust string, chain []*x509.Certificate) (string, error) {
	if len(chain) == 0 {
		return "", errors.New("SPIFFE client certificate authentication required")
	}
	roots, err := trustBundle(c, trust)
	if err != nil {
		return "", err
	}
	intermediates := x509.NewCertPool()
	for _, certificate := range chain[1:] {
		intermediates.AddCert(certificate)
	}
	if _, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates}); err != nil {
		return "", err
	}
	if len(chain[0].URIs) != 1 {
		return "", errors.New("malformed SPIFFE certificate")
	}
	return chain[0].URIs[0].String(), nil
}

// mtlsClient asks a server for its own name every ten seconds.
func mtlsClient(ctx context.Context, c *workloads.ExecCommand) error {
	var url, credentials, trust string
	if _, err := flagsOf(c, func(f *flag.FlagSet) {
		f.StringVar(&url, "fetch-url", "", "")
		f.StringVar(&credentials, "client-cred-bundle", "", "")
		f.StringVar(&trust, "server-trust-bundle", "", "")
	}); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(10 * time.Second):
		}
		if body, err := fetchWithCertificate(ctx, c.Container, url, credentials, trust); err != nil {
			fmt.Fprintln(c.Stderr, "while sending requests to the server:", err)
		} else {
			fmt.Fprintln(c.Stderr, "Got response body:", body)
		}
	}
}

func fetchWithCertificate(ctx context.Context, c *workloads.Container, url, credentials, trust string) (string, error) {
	roots, err := trustBundle(c, trust)
	if err != nil {
		return "", err
	}
	pair, err := credentialBundle(c, credentials)
	if err != nil {
		return "", err
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return c.Dial(ctx, network, address)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", response.Status, body)
	}
	return string(body), err
}

// credentialBundle reads a file with a private key and its certificates.
func credentialBundle(c *workloads.Container, name string) (tls.Certificate, error) {
	content, err := c.ReadFile(name)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(content, content)
}

// trustBundle reads a file with the certificates that are trusted.
func trustBundle(c *workloads.Container, name string) (*x509.CertPool, error) {
	content, err := c.ReadFile(name)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s has no certificates", name)
	}
	return pool, nil
}
