package rest_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/rest"
	"github.com/fakecluster/fakecluster/store"
)

// A Handler serves a cluster. Here net/http serves it on a port of its own.
func Example() {
	s, err := store.Open(store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	cluster, err := server.New(s, server.Options{Token: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	web := httptest.NewServer(rest.New(cluster, rest.Options{}))
	defer web.Close()
	defer cluster.Close() // ends watches, which web.Close waits for

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

// A client requests the explanation of a write in a header.
func ExampleExplainHeader() {
	s, err := store.Open(store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	cluster, err := server.New(s, server.Options{Token: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()
	request := httptest.NewRequest("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", strings.NewReader(`{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "color": "red"}`))
	request.Header = http.Header{
		"Authorization": {"Bearer secret"}, "Content-Type": {"application/json"}, "User-Agent": {"example"}, rest.ExplainHeader: {"text"},
	}
	response := httptest.NewRecorder()
	rest.New(cluster, rest.Options{}).ServeHTTP(response, request)
	fmt.Println(response.Code)
	fmt.Print(response.Body)
	// Output:
	// 201
	// create configmaps default/a as kubernetes-admin, manager example (dry run): 201
	//   pruned: color, which was "red" and is not in the schema
	//   warning: unknown field "color"
}

// A handler in front of the server that panics fails its request only.
func ExampleRecoverPanics() {
	handler := rest.RecoverPanics(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a bug") }))
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, httptest.NewRequest("GET", "/", nil))
	fmt.Println(response.Code)
	// Output: 500
}
