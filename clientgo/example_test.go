package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"path"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

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

// A kubeconfig for programs in other processes, such as kubectl. They reach the server by its URL only.
func ExampleAccess_Kubeconfig() {
	access := clientgo.Access{URL: "https://127.0.0.1:6443", Token: "secret", CAData: []byte("a certificate")}
	kubeconfig, err := access.Kubeconfig()
	if err != nil {
		log.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(config.Host, config.BearerToken)

	_, err = clientgo.Access{Token: "secret"}.Kubeconfig()
	fmt.Println(err != nil) // without a URL, no other process reaches the server
	// Output:
	// https://127.0.0.1:6443 secret
	// true
}

// The clients share the connections of one configuration. Here the server serves one namespace.
func ExampleNewClients() {
	server := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, path.Base(req.URL.Path))
	})
	transport := clientgo.InProcess(server)
	defer transport.Close()
	clients, err := clientgo.NewClients(clientgo.Access{Transport: transport}.RESTConfig())
	if err != nil {
		log.Fatal(err)
	}
	namespaces := clients.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	namespace, err := namespaces.Get(context.Background(), "default", metav1.GetOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(namespace.GetKind(), namespace.GetName())
	// Output: Namespace default
}

// A closed transport fails requests.
func ExampleTransport_Close() {
	transport := clientgo.InProcess(http.NotFoundHandler())
	transport.Close()
	_, err := (&http.Client{Transport: transport}).Get(clientgo.InProcessURL + "/version")
	fmt.Println(errors.Is(err, clientgo.ErrClosed))
	// Output: true
}
