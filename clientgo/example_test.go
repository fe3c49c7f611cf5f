package clientgo_test

import (
	"fmt"
	"log"
	"net/http"

	"github.com/fakecluster/fakecluster/clientgo"
)

// Clients of an API server in the same process, without sockets. Here a handler with one path stands
// for the server.
func ExampleInProcess() {
	server := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/version" {
			http.NotFound(w, req)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"major":"1","minor":"37","gitVersion":"v1.37.1"}`)
	})
	transport := clientgo.InProcess(server)
	defer transport.Close()

	access := clientgo.Access{Transport: transport}
	clients, err := clientgo.NewClients(access.RESTConfig())
	if err != nil {
		log.Fatal(err)
	}
	version, err := clients.Discovery.ServerVersion()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(version.GitVersion)
	// Output: v1.37.1
}
