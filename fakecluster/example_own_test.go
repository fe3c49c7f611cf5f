package fakecluster_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// Tokens of the test's own, as a token webhook would accept them on a real server.
func ExampleWithAuthenticator() {
	tokens := authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		if req.Header.Get("Authorization") != "Bearer of-jane" {
			return nil, false, nil
		}
		return &authenticator.Response{User: &user.DefaultInfo{Name: "jane", Groups: []string{user.SystemPrivilegedGroup}}}, true, nil
	})
	c := start(fakecluster.WithAuthenticator(tokens))
	defer c.Close()
	for _, token := range []string{"of-jane", "of-nobody"} {
		client := kubernetes.NewForConfigOrDie(&clientrest.Config{Host: c.URL(), BearerToken: token})
		_, err := client.CoreV1().Namespaces().Get(context.Background(), "default", metav1.GetOptions{})
		fmt.Println(token, err)
	}
	// Output:
	// of-jane <nil>
	// of-nobody Unauthorized
}

// A rule that no Role can express: only the administrator changes anything at the weekend.
func ExampleWithAuthorizer() {
	saturday := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	rule := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if a.IsReadOnly() || saturday.Weekday() != time.Saturday {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionDeny, "it is Saturday", nil
	})
	c := start(fakecluster.InProcess(), fakecluster.WithAuthorizer(rule))
	defer c.Close()
	maps := kubernetes.NewForConfigOrDie(c.ConfigFor("jane")).CoreV1().ConfigMaps("default")
	_, err := maps.List(context.Background(), metav1.ListOptions{})
	fmt.Println(err)
	_, err = maps.Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	fmt.Println(err)
	// Output:
	// <nil>
	// configmaps is forbidden: User "jane" cannot create resource "configmaps" in API group "" in the namespace "default": it is Saturday
}

// Objects are stamped with the time of the test.
func ExampleWithClock() {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	c := start(fakecluster.InProcess(), fakecluster.WithClock(func() time.Time { return now }))
	defer c.Close()
	made, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default").
		Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	fmt.Println(made.CreationTimestamp.UTC(), err)
	// Output:
	// 2030-01-02 03:04:05 +0000 UTC <nil>
}

// widget is a type of an operator's own API.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// DeepCopyObject implements runtime.Object; operators have it written by controller-gen.
func (w *widget) DeepCopyObject() runtime.Object { c := *w; return &c }

// The scheme of an operator maps its own types to kinds.
func ExampleWithScheme() {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "stable.example.com", Version: "v1", Kind: "CronTab"}, &widget{})
	c := start(fakecluster.InProcess(), fakecluster.WithScheme(scheme), fakecluster.WithCRDPaths("testdata/crd"),
		fakecluster.WithObjects(&widget{ObjectMeta: metav1.ObjectMeta{Name: "a"}}))
	defer c.Close()
	got, err := c.Dynamic().Resource(schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}).
		Namespace("default").Get(context.Background(), "a", metav1.GetOptions{})
	fmt.Println(got.GetKind(), got.GetName(), err)
	// Output:
	// CronTab a <nil>
}

// A cluster that is prepared once, and written to testdata, is a fixture: tests begin with it.
func ExampleWithSnapshot() {
	prepared := start(fakecluster.WithCRDPaths("testdata/crd"))
	maps := kubernetes.NewForConfigOrDie(prepared.RESTConfig()).CoreV1().ConfigMaps("default")
	created, err := maps.Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	var fixture bytes.Buffer // or a file in testdata
	if err := prepared.Snapshot(&fixture); err != nil {
		log.Fatal(err)
	}
	prepared.Close()

	c := start(fakecluster.WithSnapshot(&fixture))
	defer c.Close()
	found, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default").Get(context.Background(), "a", metav1.GetOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.UID == created.UID, found.ResourceVersion == created.ResourceVersion)
	// Output:
	// true true
}

// A cluster in a file goes on where it was, however its process ended.
func ExampleWithDataFile() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	file := fakecluster.WithDataFile(filepath.Join(folder, "cluster.data"), fakecluster.FsyncEverySecond)
	for range 2 {
		c := start(file)
		maps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
		_, err := maps.Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		fmt.Println(err)
		c.Close()
	}
	// Output:
	// <nil>
	// configmaps "a" already exists
}
