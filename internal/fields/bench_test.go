package fields

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/schema"
)

// certificate is an object as operators have it: a user applied the spec, a controller
// owns the status, another the finalizer.
const certificate = `{
"apiVersion":"cert-manager.io/v1","kind":"Certificate",
"metadata":{"name":"web","namespace":"shop","uid":"0b4f","resourceVersion":"17","generation":2,"creationTimestamp":"2026-01-02T03:04:05Z",
 "labels":{"app.kubernetes.io/name":"web","app.kubernetes.io/part-of":"shop","team":"payments"},
 "annotations":{"example.com/note":"renew early","example.com/owner":"payments"},
 "finalizers":["example.com/cleanup"],
 "ownerReferences":[{"apiVersion":"example.com/v1","kind":"Shop","name":"shop","uid":"77","controller":true}]},
"spec":{"secretName":"web-tls","duration":"2160h","renewBefore":"360h","subject":{"organizations":["shop"]},"isCA":false,
 "privateKey":{"algorithm":"RSA","encoding":"PKCS1","size":2048,"rotationPolicy":"Always"},"usages":["server auth","client auth"],
 "dnsNames":["shop.example.com","www.shop.example.com"],"uris":["spiffe://cluster.local/ns/shop/sa/web"],"ipAddresses":["192.168.0.5"],
 "issuerRef":{"name":"ca-issuer","kind":"Issuer","group":"cert-manager.io"}},
"status":{"conditions":[
  {"type":"Ready","status":"True","reason":"Ready","message":"Certificate is up to date and has not expired","lastTransitionTime":"2026-01-02T03:05:05Z","observedGeneration":2},
  {"type":"Issuing","status":"False","reason":"Issued","message":"The certificate has been issued","lastTransitionTime":"2026-01-02T03:05:05Z","observedGeneration":2}],
 "notAfter":"2026-04-02T03:04:05Z","notBefore":"2026-01-02T03:04:05Z","renewalTime":"2026-03-18T03:04:05Z","revision":1}}`

func certificateTree() *Tree {
	integer, boolean := &schema.Node{Type: "integer"}, &schema.Node{Type: "boolean"}
	list := &schema.Node{Type: "array", Items: text}
	condition := &schema.Node{Type: "object", Properties: map[string]*schema.Node{
		"type": text, "status": text, "reason": text, "message": text, "lastTransitionTime": text, "observedGeneration": integer,
	}}
	return NewTree(&schema.Node{Type: "object", Properties: map[string]*schema.Node{
		"spec": {Type: "object", Properties: map[string]*schema.Node{
			"secretName": text, "duration": text, "renewBefore": text, "isCA": boolean, "usages": list, "dnsNames": list, "uris": list, "ipAddresses": list,
			"subject": {Type: "object", Properties: map[string]*schema.Node{"organizations": list}},
			"privateKey": {Type: "object", Properties: map[string]*schema.Node{
				"algorithm": text, "encoding": text, "size": integer, "rotationPolicy": text,
			}},
			"issuerRef": {Type: "object", Properties: map[string]*schema.Node{"name": text, "kind": text, "group": text}},
		}},
		"status": {Type: "object", Properties: map[string]*schema.Node{
			"conditions": {Type: "array", List: schema.MapList, Keys: []string{"type"}, Items: condition},
			"notAfter":   text, "notBefore": text, "renewalTime": text, "revision": integer,
		}},
	}}, false)
}

// owned is the certificate with its three owners, and who they are.
func owned(tb testing.TB) (obj map[string]any, managed *Managed, whole, status *Engine) {
	tb.Helper()
	if err := json.Unmarshal([]byte(certificate), &obj); err != nil {
		tb.Fatal(err)
	}
	integers(obj)
	trees := map[string]*Tree{"cert-manager.io/v1": certificateTree()}
	whole = &Engine{APIVersion: "cert-manager.io/v1", Kind: "Certificate", Trees: trees,
		Reset: map[string]Filter{"cert-manager.io/v1": Excluding(NewSet("status"))}}
	status = &Engine{APIVersion: "cert-manager.io/v1", Kind: "Certificate", Subresource: "status", Trees: trees,
		Reset: map[string]Filter{"cert-manager.io/v1": Excluding(NewSet("metadata", "spec"))}}

	none := map[string]any{"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
	config := configurationOf(obj)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	result, err := whole.Apply(none, config, NoManagers, "user", false, now)
	if err != nil || result.Declined != "" {
		tb.Fatal(err, result.Declined)
	}
	live := result.Object
	next := runtime.DeepCopyJSON(live)
	next["metadata"].(map[string]any)["finalizers"] = obj["metadata"].(map[string]any)["finalizers"]
	next["metadata"].(map[string]any)["ownerReferences"] = obj["metadata"].(map[string]any)["ownerReferences"]
	result = whole.Update(live, next, result.Managed, "cleaner", now)
	live, next = next, runtime.DeepCopyJSON(next)
	next["status"] = obj["status"]
	result = status.Update(live, next, result.Managed, "cert-manager", now)
	if result.Declined != "" || len(result.Managed.entries) != 3 {
		tb.Fatalf("%q, %d owners", result.Declined, len(result.Managed.entries))
	}
	return obj, result.Managed, whole, status
}

// configurationOf is what a user applies of a certificate.
func configurationOf(obj map[string]any) map[string]any {
	config := runtime.DeepCopyJSON(obj)
	delete(config, "status")
	metadata := config["metadata"].(map[string]any)
	for name := range metadata {
		if name != "labels" && name != "annotations" && name != "name" && name != "namespace" {
			delete(metadata, name)
		}
	}
	return config
}

// integers makes int64 of the numbers, as decoding does.
func integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = integers(value)
		}
	case []any:
		for i, value := range v {
			v[i] = integers(value)
		}
	case float64:
		return int64(v)
	}
	return v
}

func BenchmarkUpdateOfTheStatus(b *testing.B) {
	live, managed, _, engine := owned(b)
	obj := runtime.DeepCopyJSON(live)
	condition := obj["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)
	condition["status"], condition["lastTransitionTime"] = "False", "2026-01-03T03:05:05Z"
	now := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	b.ReportAllocs()
	for b.Loop() {
		if r := engine.Update(live, obj, managed, "cert-manager", now); r.Declined != "" {
			b.Fatal(r.Declined)
		}
	}
}

func BenchmarkUpdateOfAField(b *testing.B) {
	live, managed, engine, _ := owned(b)
	obj := runtime.DeepCopyJSON(live)
	obj["spec"].(map[string]any)["duration"] = "1000h"
	now := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	b.ReportAllocs()
	for b.Loop() {
		if r := engine.Update(live, obj, managed, "editor", now); r.Declined != "" {
			b.Fatal(r.Declined)
		}
	}
}

func BenchmarkCreate(b *testing.B) {
	obj, _, engine, _ := owned(b)
	none := map[string]any{"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
	now := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	b.ReportAllocs()
	for b.Loop() {
		if r := engine.Update(none, obj, NoManagers, "creator", now); r.Declined != "" {
			b.Fatal(r.Declined)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	live, managed, engine, _ := owned(b)
	now := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	changed, fewer := configurationOf(live), configurationOf(live)
	changed["spec"].(map[string]any)["duration"] = "1000h"
	delete(fewer["spec"].(map[string]any), "duration")
	other := map[string]any{"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": map[string]any{
		"name": "web", "annotations": map[string]any{"example.com/seen": "yes"},
	}}
	for _, bench := range []struct {
		name    string
		config  map[string]any
		manager string
	}{
		{"of what is", configurationOf(live), "user"},
		{"with a change", changed, "user"},
		{"with a field less", fewer, "user"},
		{"by a second manager", other, "second"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r, err := engine.Apply(live, bench.config, managed, bench.manager, false, now); err != nil || r.Declined != "" {
					b.Fatal(err, r.Declined)
				}
			}
		})
	}
}

func BenchmarkParseManaged(b *testing.B) {
	_, managed, _, _ := owned(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := ParseManaged(managed.Tree()); !ok {
			b.Fatal("not parsed")
		}
	}
}
