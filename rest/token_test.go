package rest_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// claims are those of a token of the service account a in the namespace default.
func (c *cluster) claims() (header, claims string) {
	c.t.Helper()
	a := c.serve("POST", "/api/v1/namespaces/default/serviceaccounts/a/token", jsonBody, []byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest"}`))
	parts := strings.Split(gjson.Get(a.body, "status.token").Str, ".")
	if a.code != 201 || len(parts) != 3 {
		c.t.Fatal(a)
	}
	decoded := make([]string, 2)
	for i := range decoded {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || !json.Valid(text) {
			c.t.Fatalf("%s: %v", text, err)
		}
		decoded[i] = string(text)
	}
	return decoded[0], decoded[1]
}

func TestATokenSaysWhomItBelongsTo(t *testing.T) {
	c := startInProcess(t)
	a := c.serve("POST", "/api/v1/namespaces/default/serviceaccounts", jsonBody, []byte(`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"a"}}`))
	if a.code != 201 {
		t.Fatal(a)
	}
	header, claims := c.claims()
	const issuer = "https://kubernetes.default.svc.cluster.local"
	for path, want := range map[string]string{
		"iss": issuer, "aud.0": issuer, "sub": "system:serviceaccount:default:a",
		`kubernetes\.io.namespace`: "default", `kubernetes\.io.serviceaccount.name`: "a",
		`kubernetes\.io.serviceaccount.uid`: gjson.Get(a.body, "metadata.uid").Str,
	} {
		expect(t, path, gjson.Get(claims, path).Str, want)
	}
	expect(t, "lifetime", gjson.Get(claims, "exp").Int()-gjson.Get(claims, "iat").Int(), int64(3600))
	expect(t, "algorithm", gjson.Get(header, "alg").Str, "ES256")

	forked, _ := c.fork(t).claims()
	expect(t, "the key of a fork", gjson.Get(forked, "kid").Str, gjson.Get(header, "kid").Str)
	other := startInProcess(t)
	other.serve("POST", "/api/v1/namespaces/default/serviceaccounts", jsonBody, []byte(`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"a"}}`))
	if forked, _ = other.claims(); gjson.Get(forked, "kid").Str == gjson.Get(header, "kid").Str {
		t.Error("two clusters have the same key")
	}
}
