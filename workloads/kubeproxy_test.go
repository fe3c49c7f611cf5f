package workloads_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/workloads"
)

// TestNodesAnswerAtThePortsOfKubeProxy proves what a load balancer and a monitor find there.
func TestNodesAnswerAtThePortsOfKubeProxy(t *testing.T) {
	inBubble(t, func(w world) {
		get := func(url string) string {
			resp, err := w.HTTPClient().Get(url)
			if err != nil {
				return err.Error()
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				w.Fatal(err)
			}
			return fmt.Sprintf("%d %s %s", resp.StatusCode, resp.Header.Get("X-Load-Balancing-Endpoint-Weight"), body)
		}
		w.createPod("web", "nodeName: n1\nhostNetwork: true\ncontainers: [{name: app, image: busybox, command: [sleep, 1d]}]")
		w.createPod("other", "nodeName: n1\ncontainers: [{name: app, image: busybox, command: [sleep, 1d]}]")
		w.patch("pods", "web", `{"metadata": {"labels": {"app": "web"}}}`)
		w.post("apiVersion: v1\nkind: Service\nmetadata: {name: web}\n" +
			"spec: {type: LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort: 31000, selector: {app: web}, ports: [{name: a, port: 80}, {name: b, port: 81}]}")
		w.pass(20 * time.Second)

		health := func(endpoints int) string {
			return fmt.Sprintf("{\n\t\"service\": {\n\t\t\"namespace\": \"default\",\n\t\t\"name\": \"web\"\n\t},\n\t\"localEndpoints\": %d,\n\t\"serviceProxyHealthy\": true\n}", endpoints)
		}
		equal(t, "the node with the endpoint", get("http://172.18.0.2:31000/healthz"), "200 1 "+health(1))
		equal(t, "the node without", get("http://172.18.0.3:31000/"), "503 0 "+health(0))
		w.patch("services", "web", `{"spec": {"externalTrafficPolicy": "Cluster"}}`)
		w.pass(time.Second)
		equal(t, "without a health check", get("http://172.18.0.2:31000/"), `Get "http://172.18.0.2:31000/": dial tcp 172.18.0.2:31000: connect: connection refused`)

		now := func() string { return time.Now().Format(time.RFC3339Nano) }
		const status = `,"healthy":true,"status":{"IPv4":{"lastUpdated":"%[1]s","healthy":true}}}`
		equal(t, "kube-proxy", get("http://172.18.0.2:10256/healthz"), fmt.Sprintf(`200  {"lastUpdated":"%[1]s","currentTime":"%[1]s","nodeEligible":true`+status, now()))
		equal(t, "that it lives", get("http://172.18.0.2:10256/livez"), fmt.Sprintf(`200  {"lastUpdated":"%[1]s","currentTime":"%[1]s"`+status, now()))
		taint := []byte(`{"spec": {"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]}}`)
		if _, err := w.client.CoreV1().Nodes().Patch(w.Context(), "n2", types.StrategicMergePatchType, taint, metav1.PatchOptions{}); err != nil {
			w.Fatal(err)
		}
		w.pass(time.Second)
		equal(t, "kube-proxy of a node that goes", get("http://172.18.0.3:10256/healthz"),
			fmt.Sprintf(`503  {"lastUpdated":"%[1]s","currentTime":"%[1]s","nodeEligible":false`+status, now()))
		equal(t, "its mode, from outside", get("http://172.18.0.2:10249/proxyMode"), `Get "http://172.18.0.2:10249/proxyMode": dial tcp 172.18.0.2:10249: connect: connection refused`)
		equal(t, "its mode, on the node", w.exec(nil, "curl", "-s", "http://localhost:10249/proxyMode"), "nftables")
		equal(t, "on the node, with more requests of a connection", w.exec(nil, "sh", "-c", `printf 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n' | nc 127.0.0.1 10249 | grep -c HTTP`), "2\n")

		endless, err := http.NewRequestWithContext(w.Context(), http.MethodGet, "http://172.18.0.2:10256/livez", nil)
		if err != nil {
			w.Fatal(err)
		}
		endless.Header.Set("X-Long", strings.Repeat("a", 2*http.DefaultMaxHeaderBytes))
		resp, err := w.HTTPClient().Do(endless)
		if err != nil {
			w.Fatal(err)
		}
		resp.Body.Close()
		equal(t, "headers of 2 MiB", resp.Status, "431 Request Header Fields Too Large")
	}, workloads.Nodes(2))
}
