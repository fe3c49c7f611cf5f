package rest_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/rest"
	"github.com/fakecluster/fakecluster/store"
)

// exampleServer starts a server over an empty store, and returns it with the function that ends both.
func exampleServer(o rest.Options) (*rest.Server, func()) {
	s, err := store.Open(store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	o.Token = "secret"
	server, err := rest.New(s, o)
	if err != nil {
		log.Fatal(err)
	}
	return server, func() {
		server.Close()
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

// A server is an http.Handler over a store. Here net/http serves it on a port of its own.
func Example() {
	s, err := store.Open(store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	server, err := rest.New(s, rest.Options{Token: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	defer server.Close() // ends watches, which web.Close waits for

	req, _ := http.NewRequest(http.MethodGet, web.URL+"/api/v1/namespaces/default", nil)
	req.Header.Set("Authorization", "Bearer secret")
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, strings.Contains(string(body), `"phase":"Active"`))
	// Output: 200 true
}

// Users have the rights that RBAC gives them. A token is made for any user and groups.
func ExampleServer_TokenFor() {
	server, end := exampleServer(rest.Options{})
	defer end()
	jane := server.TokenFor("jane", "developers")
	fmt.Println(send(server, jane, "GET", configMaps, "").Code)
	const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
	send(server, "secret", "POST", rbac+"/roles", `{
		"metadata": {"name": "reader"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]}`)
	send(server, "secret", "POST", rbac+"/rolebindings", `{
		"metadata": {"name": "developers-read"},
		"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
		"subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "developers"}]}`)
	fmt.Println(send(server, jane, "GET", configMaps, "").Code)
	// Output:
	// 403
	// 200
}

// Modes replace RBAC, as the flag --authorization-mode of kube-apiserver does.
func ExampleNewModes() {
	modes, err := rest.NewModes(rest.ModeOptions{Modes: []string{"AlwaysAllow"}})
	if err != nil {
		log.Fatal(err)
	}
	server, end := exampleServer(rest.Options{Modes: modes})
	defer end()
	fmt.Println(send(server, server.TokenFor("jane"), "GET", "/api/v1/nodes", "").Code)
	// Output: 200
}

// frozen is an Admission that denies all deletions.
type frozen struct{}

func (frozen) Mutate(context.Context, rest.AdmissionWrite) error { return nil }

func (frozen) Validate(_ context.Context, w rest.AdmissionWrite) error {
	if w.GetOperation() == "DELETE" {
		return apierrors.NewForbidden(w.GetResource().GroupResource(), w.GetName(), fmt.Errorf("nothing is deleted on Fridays"))
	}
	return nil
}

// An Admission is a plugin in Go. It is called after the webhooks and policies.
func ExampleAdmission() {
	server, end := exampleServer(rest.Options{Admission: frozen{}})
	defer end()
	send(server, "secret", "POST", configMaps, `{"metadata": {"name": "a"}}`)
	response := send(server, "secret", "DELETE", configMaps+"/a", "")
	_, message, _ := strings.Cut(response.Body.String(), `"message":`)
	message, _, _ = strings.Cut(message, `","`)
	fmt.Println(response.Code, message)
	// Output: 403 "configmaps \"a\" is forbidden: nothing is deleted on Fridays
}

// A fault makes a request fail on purpose.
func ExampleServer_Inject() {
	server, end := exampleServer(rest.Options{})
	defer end()
	injection, err := server.Inject(faults.Fault{Verb: "create", Resource: "configmaps", Effect: faults.TooManyRequests(time.Second), Times: 1})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		fmt.Println(send(server, "secret", "POST", configMaps, `{"metadata": {"name": "a"}}`).Code)
	}
	fmt.Println("fired:", injection.Fired())
	// Output:
	// 429
	// 201
	// fired: 1
}

// The history has the requests, and who has written which revision of an object.
func ExampleServer_Requests() {
	server, end := exampleServer(rest.Options{})
	defer end()
	send(server, "secret", "POST", configMaps, `{"metadata": {"name": "a"}}`)
	send(server, "secret", "PATCH", configMaps+"/a", `{"data": {"color": "red"}}`, "Content-Type", "application/merge-patch+json")
	send(server, "secret", "GET", configMaps+"/b", "")
	for _, q := range server.Requests() {
		fmt.Println(q.Code, q.Verb, q.Object())
	}
	revisions, err := server.ObjectHistory(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "default", "a")
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

// A server that has been prepared forgets how. The numbers of requests begin with 1 again.
func ExampleServer_RestartRequests() {
	server, end := exampleServer(rest.Options{})
	defer end()
	send(server, "secret", "POST", configMaps, `{"metadata": {"name": "prepared"}}`)
	server.RestartRequests()
	send(server, "secret", "GET", configMaps+"/prepared", "")
	for _, q := range server.Requests() {
		fmt.Println(q.Number, q.Verb, q.Object())
	}
	// Output: 1 get configmaps default/prepared
}

// A later server with the same key accepts the tokens of this one.
func ExampleServer_AccountKey() {
	server, end := exampleServer(rest.Options{})
	defer end()
	fmt.Println("before the first token:", server.AccountKey())
	send(server, "secret", "POST", "/api/v1/namespaces/default/serviceaccounts", `{"metadata": {"name": "robot"}}`)
	send(server, "secret", "POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", `{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}`)
	later := rest.Options{Accounts: rest.Accounts{SigningKey: server.AccountKey()}}
	fmt.Println("a key to keep:", later.Accounts.SigningKey != nil)
	// Output:
	// before the first token: <nil>
	// a key to keep: true
}

// The page of what has happened is one HTML file, named after the program and the test.
func ExampleServer_WriteReport() {
	server, end := exampleServer(rest.Options{})
	defer end()
	folder, err := os.MkdirTemp("", "report")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path, err := server.WriteReport(folder, "operator", "TestWebsite")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(filepath.Base(path))
	// Output: operator.TestWebsite.html
}

// The findings name requests whose failure may be the reason why a test failed.
func ExampleServer_Findings() {
	server, end := exampleServer(rest.Options{})
	defer end()
	send(server, server.TokenFor("jane"), "POST", configMaps, `{"metadata": {"name": "a"}}`)
	for _, section := range server.Findings().Sections {
		fmt.Println(section.Title)
	}
	// Output:
	// refused:
	// requests by client:
}

// A client requests the explanation of a write in a header.
func ExampleExplainHeader() {
	server, end := exampleServer(rest.Options{})
	defer end()
	response := send(server, "secret", "POST", configMaps+"?dryRun=All", `{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "color": "red"}`, rest.ExplainHeader, "text")
	fmt.Println(response.Code)
	fmt.Print(response.Body)
	// Output:
	// 201
	// create configmaps default/a as kubernetes-admin, manager example (dry run): 201
	//   pruned: color, which was "red" and is not in the schema
	//   warning: unknown field "color"
}

// The audit events of the requests are in memory. AuditLog writes them as kube-apiserver does, by a policy.
func ExampleServer_AuditEvents() {
	server, end := exampleServer(rest.Options{AuditLevel: auditinternal.LevelMetadata})
	defer end()
	send(server, server.TokenFor("jane"), "GET", configMaps, "")
	for _, e := range server.AuditEvents() {
		fmt.Println(e.User.Username, e.Verb, e.ObjectRef.Resource, e.ResponseStatus.Code, e.Annotations["authorization.k8s.io/decision"])
	}
	// Output: jane list configmaps 403 forbid
}

// A fork is another server over a fork of the store. Neither sees what is written to the other one.
func ExampleServer_Fork() {
	s, err := store.Open(store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	origin, err := rest.New(s, rest.Options{Token: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	defer origin.Close()
	forked, err := s.Fork()
	if err != nil {
		log.Fatal(err)
	}
	defer forked.Close()
	fork, err := origin.Fork(forked, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer fork.Close()

	send(fork, "secret", "POST", configMaps, `{"metadata": {"name": "a"}}`)
	fmt.Println(send(fork, "secret", "GET", configMaps+"/a", "").Code, send(origin, "secret", "GET", configMaps+"/a", "").Code)
	// Output: 200 404
}

// Settle returns when the server has nothing left to do, and no request has come for a while.
func ExampleServer_Settle() {
	server, end := exampleServer(rest.Options{})
	defer end()
	send(server, "secret", "POST", configMaps, `{"metadata": {"name": "a"}}`)
	fmt.Println(server.Settle(context.Background(), time.Millisecond))
	// Output: <nil>
}

// Controllers of kube-controller-manager act within the write that they follow from.
func ExampleControllerNames() {
	server, end := exampleServer(rest.Options{Controllers: []string{"namespace-controller"}})
	defer end()
	send(server, "secret", "POST", "/api/v1/namespaces", `{"metadata": {"name": "a"}}`)
	send(server, "secret", "DELETE", "/api/v1/namespaces/a", "")
	fmt.Println(send(server, "secret", "GET", "/api/v1/namespaces/a", "").Code)
	fmt.Println(slices.Contains(rest.ControllerNames(), "namespace-controller"))
	// Output:
	// 404
	// true
}

// The clock of a server may have any time that an object can have.
func ExampleCheckTime() {
	fmt.Println(rest.CheckTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	fmt.Println(rest.CheckTime(time.Time{}) != nil)
	// Output:
	// <nil>
	// true
}

// A handler in front of the server that panics fails its request only.
func ExampleRecoverPanics() {
	handler := rest.RecoverPanics(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a bug") }))
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, httptest.NewRequest("GET", "/", nil))
	fmt.Println(response.Code)
	// Output: 500
}
