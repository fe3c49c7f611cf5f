package rest_test

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestWritesAreAnsweredInProtobufAsReads compares the answers to writes, and the events of a watch, with the answers to gets. A
// write has the object at hand, and a get decodes it.
func TestWritesAreAnsweredInProtobufAsReads(t *testing.T) {
	const pods, deployments = "/api/v1/namespaces/default/pods", "/apis/apps/v1/namespaces/default/deployments"
	c := start(t)
	in := http.Header{"Accept": {runtime.ContentTypeProtobuf}}
	for _, step := range []struct {
		rule, method, path, contentType, body string
		read                                  string // the path of the object
	}{
		{"a create", "POST", pods, runtime.ContentTypeJSON,
			`{"metadata":{"name":"a","annotations":{"a":"\u00fc"}},"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":1}]}],"hostNetwork":true}}`, pods + "/a"},
		{"a patch of the status", "PATCH", pods + "/a/status", "application/strategic-merge-patch+json",
			`{"status":{"phase":"Running","startTime":"2026-01-02T03:04:05Z","podIP":"1.2.3.4","conditions":[{"type":"Ready","status":"True"}]}}`, pods + "/a"},
		{"a patch that changes nothing", "PATCH", pods + "/a/status", "application/merge-patch+json", `{"status":{"phase":"Running"}}`, pods + "/a"},
		{"a create with defaults", "POST", deployments, runtime.ContentTypeJSON,
			`{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"b"}]}}}}`, deployments + "/a"},
		{"a server-side apply", "PATCH", deployments + "/a?fieldManager=ann", "application/apply-patch+yaml", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","labels":{"x":"y"}}}`, deployments + "/a"},
	} {
		header := in.Clone()
		header.Set("Content-Type", step.contentType)
		written := c.do(step.method, step.path, header, step.body)
		if written.code >= 300 {
			t.Fatalf("%s: %d %s", step.rule, written.code, written.body)
		}
		if read := c.do("GET", step.read, in, "").body; written.body != read {
			t.Errorf("%s is answered with\n%q\nand a get with\n%q", step.rule, written.body, read)
		}
	}
	// A subresource that is shown as another kind.
	header := in.Clone()
	header.Set("Content-Type", "application/merge-patch+json")
	scale := c.do("PATCH", deployments+"/a/scale", header, `{"spec":{"replicas":3}}`)
	expect(t, "the answer with a Scale", scale.body, c.do("GET", deployments+"/a/scale", in, "").body)

	// The first bytes of a stream of events are the object that is there.
	watched := c.open("GET", pods+"?watch=1", http.Header{"Accept": {runtime.ContentTypeProtobuf + ";stream=watch"}}, "")
	defer watched.Body.Close()
	buffer := make([]byte, 1<<16)
	n, err := protobuf.LengthDelimitedFramer.NewFrameReader(watched.Body).Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	var event metav1.WatchEvent
	if _, _, err := protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme).Decode(buffer[:n], nil, &event); err != nil {
		t.Fatal(err)
	}
	expect(t, "the object of the event", string(event.Object.Raw), c.do("GET", pods+"/a", in, "").body)
}
