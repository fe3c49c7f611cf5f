package images

import (
	"context"
	"flag"
	"fmt"
	"net/http"

	"github.com/coreos/go-oidc"
	"golang.org/x/oauth2"
	"gopkg.in/go-jose/go-jose.v2/jwt"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/workloads"
)

// accountFolder has the token and the certificate authority of a container.
const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// issuerDiscovery verifies a token by what its issuer, which the API server is, publishes about itself.
func issuerDiscovery(ctx context.Context, c *workloads.ExecCommand) error {
	var path, audience string
	if _, err := flagsOf(c, func(f *flag.FlagSet) {
		f.StringVar(&path, "token-path", "", "")
		f.StringVar(&audience, "audience", "", "")
	}); err != nil {
		return err
	}
	raw, err := c.Container.ReadFile(path)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.Stderr, "OK: Got token")
	transport, err := inClusterTransport(c.Container)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport}
	defer client.CloseIdleConnections()
	return verify(context.WithValue(ctx, oauth2.HTTPClient, client), c, string(raw), audience)
}

// inClusterTransport returns a transport that trusts only the API server, reaches it through the network of the cluster, and has the token of the
// container.
func inClusterTransport(c *workloads.Container) (http.RoundTripper, error) {
	authority, err := c.ReadFile(accountFolder + "/ca.crt")
	if err != nil {
		return nil, err
	}
	token, err := c.ReadFile(accountFolder + "/token")
	if err != nil {
		return nil, err
	}
	return clientrest.TransportFor(&clientrest.Config{
		Host: "https://kubernetes.default.svc", Dial: c.Dial, BearerToken: string(token), TLSClientConfig: clientrest.TLSClientConfig{CAData: authority},
	})
}

// verify verifies a token, and prints what it says.
func verify(ctx context.Context, c *workloads.ExecCommand, raw, audience string) error {
	token, err := jwt.ParseSigned(raw)
	if err != nil {
		return err
	}
	var claims jwt.Claims
	if err := token.UnsafeClaimsWithoutVerification(&claims); err != nil {
		return err
	}
	fmt.Fprintf(c.Stderr, "OK: got issuer %s\n", claims.Issuer)
	provider, err := oidc.NewProvider(ctx, claims.Issuer)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stderr, "OK: Constructed OIDC provider for issuer %v\n", claims.Issuer)
	valid, err := provider.Verifier(&oidc.Config{
		ClientID: audience, SupportedSigningAlgs: []string{oidc.RS256, oidc.ES256, oidc.ES384, oidc.ES512},
	}).Verify(ctx, raw)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.Stderr, "OK: Validated signature on JWT")
	var content map[string]any
	if err := valid.Claims(&content); err != nil {
		return err
	}
	fmt.Fprintf(c.Stderr, "OK: Got valid claims from token!\n%s\n", asJSON(content))
	return nil
}
