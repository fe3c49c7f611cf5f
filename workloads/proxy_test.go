package workloads_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/workloads"
)

// TestProxiesReachPodsServicesAndNodes sends requests through the API server, in a bubble.
func TestProxiesReachPodsServicesAndNodes(t *testing.T) {
	run := func(ctx context.Context, c *workloads.Container) error {
		l, err := c.Listen("tcp", ":8080")
		if err != nil {
			return err
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			fmt.Fprintf(w, "%s %s?%s", req.Method, req.URL.Path, req.URL.RawQuery)
		})}
		go func() {
			<-ctx.Done()
			_ = s.Close()
		}()
		_ = s.Serve(l)
		return nil
	}
	inBubble(t, func(w world) {
		w.post(`
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: app, ports: [{containerPort: 8080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}]
`)
		w.pass(3 * time.Second)
		get := func(path string) string {
			stream, err := w.client.CoreV1().RESTClient().Get().AbsPath(path).Stream(w.Context())
			if err != nil {
				return "error: " + err.Error()
			}
			defer stream.Close()
			data, err := io.ReadAll(stream)
			if err != nil {
				t.Error(err)
			}
			return string(data)
		}
		const namespace = "/api/v1/namespaces/default"
		for path, want := range map[string]string{
			namespace + "/pods/web/proxy/a/b":                      "GET /a/b?",
			namespace + "/pods/http:web:8080/proxy/":               "GET /?",
			namespace + "/services/web:80/proxy/x":                 "GET /x?",
			namespace + "/services/web:http/proxy/x":               "GET /x?",
			"/api/v1/nodes/n1/proxy/healthz":                       "ok",
			"/api/v1/nodes/n1:10250/proxy/healthz":                 "ok",
			"/api/v1/nodes/n1/proxy/logs/":                         "<!doctype html>\n<meta name=\"viewport\" content=\"width=device-width\">\n<pre>\n</pre>\n",
			"/api/v1/nodes/n1/proxy/containerLogs/default/web/app": "",
		} {
			equal(t, path, get(path), want)
		}
		for path, want := range map[string]string{
			namespace + "/pods/web:81/proxy/":         "error trying to reach service: dial tcp 10.244.0.",
			"/api/v1/nodes/n1:81/proxy/":              "error trying to reach service: dial tcp 172.18.0.2:81: connect: connection refused",
			"/api/v1/nodes/n1/proxy/stats/summary":    `"nodeName":"n1"`,
			"/api/v1/nodes/n1/proxy/pods/":            `"kind":"PodList"`,
			"/api/v1/nodes/n1/proxy/metrics":          `kubelet_node_name{node="n1"} 1`,
			"/api/v1/nodes/n1:10250/proxy/metrics":    `kubelet_started_containers_total{container_type="container"} 1`,
			"/api/v1/nodes/n1/proxy/metrics/cadvisor": `image="docker.io/library/app:latest",name="`,
			"/api/v1/nodes/n1/proxy/metrics/resource": `container_start_time_seconds{container="app",namespace="default",pod="web"} `,
			"/api/v1/nodes/n1/proxy/nothing":          "the server could not find the requested resource",
			namespace + "/services/web:none/proxy/x":  `no endpoints available for service "web"`,
		} {
			if got := get(path); !strings.Contains(got, want) {
				t.Errorf("%s: got %q, want %q in it", path, got, want)
			}
		}
		w.delete("pods", "web")
		w.pass(5 * time.Second)
		equal(t, "a service without a pod", get(namespace+"/services/web/proxy/x"), `error: no endpoints available for service "web"`)
	}, workloads.Nodes(1), workloads.Image("app", run))
}
