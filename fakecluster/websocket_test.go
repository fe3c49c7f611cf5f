package fakecluster_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// dialWatch begins a watch over a WebSocket, with the token where a browser has it: among the
// protocols.
func dialWatch(t *testing.T, c *fakecluster.Cluster, path, accept string) *websocket.Conn {
	t.Helper()
	config, err := websocket.NewConfig("ws"+strings.TrimPrefix(c.URL(), "http")+path, c.URL())
	if err != nil {
		t.Fatal(err)
	}
	token := base64.RawURLEncoding.EncodeToString([]byte(c.RESTConfig().BearerToken))
	config.Protocol = []string{"base64url.bearer.authorization.k8s.io." + token, "watch"}
	config.Header.Set("Accept", accept)
	ws, err := websocket.DialConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	return ws
}

func TestWatchOverAWebSocket(t *testing.T) {
	c := fakecluster.Start(t)
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	maps := client.CoreV1().ConfigMaps("default")
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const path = "/api/v1/namespaces/default/configmaps?watch=true"
	asText := dialWatch(t, c, path, "application/json")
	asBinary := dialWatch(t, c, path, runtime.ContentTypeProtobuf)
	next := func() (event string, name string) {
		t.Helper()
		var message string
		if err := websocket.Message.Receive(asText, &message); err != nil {
			t.Fatal(err)
		}
		var e struct {
			Type   string
			Object corev1.ConfigMap
		}
		if err := json.Unmarshal([]byte(message), &e); err != nil {
			t.Fatalf("%v: %s", err, message)
		}
		var raw []byte
		if err := websocket.Message.Receive(asBinary, &raw); err != nil {
			t.Fatal(err)
		}
		var frame metav1.WatchEvent
		if err := frame.Unmarshal(raw); err != nil {
			t.Fatal(err)
		}
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(frame.Object.Raw, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if frame.Type != e.Type || obj.(*corev1.ConfigMap).ResourceVersion != e.Object.ResourceVersion {
			t.Errorf("protobuf has %s of %v, JSON %s of %v", frame.Type, obj, e.Type, e.Object)
		}
		return e.Type, e.Object.Name
	}
	expect := func(event, name string) {
		t.Helper()
		if gotEvent, gotName := next(); gotEvent != event || gotName != name {
			t.Errorf("got %s of %s, want %s of %s", gotEvent, gotName, event, name)
		}
	}
	expect("ADDED", "a")
	for _, q := range c.Requests() {
		if q.Verb == "watch" && (q.Code != http.StatusSwitchingProtocols || !q.Running) {
			t.Errorf("the history says %v, running %v", q, q.Running)
		}
	}
	if err := maps.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("DELETED", "a")
}

func TestAWatchOverAWebSocketEndsInTime(t *testing.T) {
	c := fakecluster.Start(t)
	ws := dialWatch(t, c, "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=1", "application/json")
	var message string
	if err := websocket.Message.Receive(ws, &message); err != io.EOF {
		t.Errorf("the end of the watch is %q and error %v", message, err)
	}
}

func TestAWebSocketIsRefused(t *testing.T) {
	upgrade := func(t *testing.T, c *fakecluster.Cluster, client *http.Client, origin string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL()+"/api/v1/configmaps?watch=true", nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
			"Authorization": "Bearer " + c.RESTConfig().BearerToken, "Origin": origin,
		} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		answer, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	t.Run("without an Origin, as by a real server", func(t *testing.T) {
		c := fakecluster.Start(t)
		if code, _ := upgrade(t, c, http.DefaultClient, ""); code != http.StatusForbidden {
			t.Errorf("code %d", code)
		}
	})
	t.Run("in process, where there is no connection", func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		code, body := upgrade(t, c, &http.Client{Transport: c.RESTConfig().Transport}, c.URL())
		if code != http.StatusInternalServerError || !strings.Contains(body, "unable to upgrade: unable to hijack response") {
			t.Errorf("code %d: %s", code, body)
		}
	})
}
