package console_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/internal/server/console"
	"github.com/fakecluster/fakecluster/rest"
	"github.com/fakecluster/fakecluster/store"
)

// exampleCluster starts a cluster over an empty store, and returns it with its handler and the function that ends it.
func exampleCluster() (*server.Cluster, http.Handler, func()) {
	s, err := store.Open(store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := server.New(s, server.Options{Token: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	return c, rest.New(c, rest.Options{}), func() {
		c.Close()
		s.Close()
	}
}

// send sends a request with the token of a user, and returns the response.
func send(server http.Handler, token, method, path, body string, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "example")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	response := httptest.NewRecorder()
	server.ServeHTTP(response, req)
	return response
}

const configMaps = "/api/v1/namespaces/default/configmaps"

// A fault makes a request fail on purpose.
func ExampleInject() {
	c, handler, end := exampleCluster()
	defer end()
	injection, err := console.Inject(c, faults.Fault{Verb: "create", Resource: "configmaps", Effect: faults.TooManyRequests(time.Second), Times: 1})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		fmt.Println(send(handler, "secret", "POST", configMaps, `{"metadata": {"name": "a"}}`).Code)
	}
	fmt.Println("fired:", injection.Fired())
	// Output:
	// 429
	// 201
	// fired: 1
}

// The history has the requests, and who has written which revision of an object.
func ExampleObjectHistory() {
	c, handler, end := exampleCluster()
	defer end()
	send(handler, "secret", "POST", configMaps, `{"metadata": {"name": "a"}}`)
	send(handler, "secret", "PATCH", configMaps+"/a", `{"data": {"color": "red"}}`, "Content-Type", "application/merge-patch+json")
	send(handler, "secret", "GET", configMaps+"/b", "")
	for _, q := range c.History.Requests() {
		fmt.Println(q.Code, q.Verb, q.Object())
	}
	revisions, err := console.ObjectHistory(c, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "default", "a")
	if err != nil {
		log.Fatal(err)
	}
	for _, change := range revisions[1].Changes {
		fmt.Println(change)
	}
	// Output:
	// 201 create configmaps in default
	// 200 patch configmaps default/a
	// 404 get configmaps default/b
	// data: added {"color":"red"}
}

// The page of what has happened is one HTML file, named after the program and the test.
func ExampleReport() {
	c, _, end := exampleCluster()
	defer end()
	page := &console.Report{Cluster: c}
	folder, err := os.MkdirTemp("", "report")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path, err := page.Write(folder, "operator", "TestWebsite")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(filepath.Base(path))
	// Output: operator.TestWebsite.html
}

// The findings name requests whose failure may be the reason why a test failed.
func ExampleFindings() {
	c, handler, end := exampleCluster()
	defer end()
	send(handler, c.Users.TokenFor("jane"), "POST", configMaps, `{"metadata": {"name": "a"}}`)
	for _, section := range console.Findings(c).Sections {
		fmt.Println(section.Title)
	}
	// Output:
	// refused:
	// requests by client:
}

// Settle returns when the cluster has nothing left to do, and no request has come for a while.
func ExampleSettle() {
	c, handler, end := exampleCluster()
	defer end()
	send(handler, "secret", "POST", configMaps, `{"metadata": {"name": "a"}}`)
	fmt.Println(console.Settle(context.Background(), c, time.Millisecond))
	// Output: <nil>
}
