package images_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/conformance/e2e/images"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestAGuestbookHasCopies proves that the copy of a store has its entries, also earlier ones, and answers the frontend; and that wget posts to
// nettest.
func TestAGuestbookHasCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		w := workloads.Run(t, c, append(images.Options(), workloads.Nodes(1), workloads.OnlyKnownImages())...)
		core := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1()
		run := func(name string, port int32, image string, command, args []string) {
			t.Helper()
			labels := map[string]string{"app": name}
			if port != 0 {
				service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: port}}}}
				if _, err := core.Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "c", Image: "registry.k8s.io/e2e-test-images/" + image + ":1", Command: command, Args: args}},
			}}
			if _, err := core.Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
		}
		get := func(url, want string) {
			t.Helper()
			if got := fetch(t.Context(), w.HTTPClient(), url); got != want {
				t.Errorf("%s answers %q, want %q", url, got, want)
			}
		}
		run("agnhost-primary", 6379, "agnhost", nil, []string{"guestbook", "--http-port", "6379"})
		get("http://agnhost-primary:6379/set?key=a&value=first", `{"message":"Updated"}`)
		run("agnhost-replica", 6379, "agnhost", nil, []string{"guestbook", "--replicaof", "agnhost-primary", "--http-port", "6379"})
		run("frontend", 80, "agnhost", nil, []string{"guestbook", "--backend-port", "6379"})
		get("http://frontend/guestbook?cmd=get&key=a", `{"data":"first"}`)
		get("http://frontend/guestbook?cmd=set&key=b&value=second", `{"message":"Updated"}`)
		get("http://agnhost-replica:6379/get", `{"data":{"a":"first","b":"second"}}`)
		get("http://frontend/guestbook?cmd=drop", "400 unsupported cmd: 'drop'\n")

		run("server", 8080, "agnhost", nil, []string{"nettest"})
		run("client", 0, "busybox", []string{"wget", "-q", "-O-", `--post-data={"Source": "me"}`, "http://server:8080/write"}, nil)
		get("http://server:8080/read", `{"Hostname":"server","Received":{"me":1}}`)
		log, err := core.Pods("default").GetLogs("client", &corev1.PodLogOptions{}).DoRaw(t.Context())
		if err != nil || string(log) != `{"Hostname":"server"}` {
			t.Errorf("wget prints %q: %v", log, err)
		}
	})
}

// fetch returns the answer to a GET request, with the status code before it if that is not 200.
func fetch(ctx context.Context, client *http.Client, url string) string {
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	response, err := client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Sprintf("%d %s", response.StatusCode, body)
	}
	return string(body)
}
