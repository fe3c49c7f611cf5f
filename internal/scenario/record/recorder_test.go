package record

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// A body need not be a manifest: without apiVersion and kind, without the namespace of the path, of another kind, or not an object
// at all, the scenario parses and passes.
func TestRecordedBodies(t *testing.T) {
	var recorder Recorder
	c := fakecluster.Start(t, fakecluster.WithMiddleware(recorder.Wrap))
	if err := recorder.Begin(c.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	const (
		collection = "/api/v1/namespaces/n/configmaps"
		one        = collection + "/a"
		apply      = "application/apply-patch+yaml"
		merge      = "application/merge-patch+json"
	)
	client := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().RESTClient()
	for _, each := range []struct{ verb, path, media, body string }{
		{"POST", "/api/v1/namespaces", "application/json", `{"metadata":{"name":"n"}}`},
		{"POST", collection, "application/json", `{"metadata":{"name":"a"}}`},
		{"POST", collection, "application/json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`},
		{"POST", collection, "application/json", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"c"}}`},
		{"POST", collection, "application/json", `{"apiVersion":1,"kind":"","metadata":"x"}`},
		{"POST", collection, "application/json", ``},
		{"POST", collection, "application/json", `null`},
		{"POST", collection, "application/json", `"text"`},
		{"POST", collection, "application/json", `[]`},
		{"POST", "/api/v1/namespaces/n/nosuch", "application/json", `{}`},
		{"POST", one + "/nosuch", "application/json", `{}`},
		{"PUT", one, "application/json", `{"metadata":{"name":"a"},"data":{"x":"1"}}`},
		{"PUT", one, "application/json", ``},
		{"PUT", collection, "application/json", `{}`},
		{"PATCH", one, apply, `{"metadata":{"name":"a"}}`},
		{"PATCH", one, apply, ``},
		{"PATCH", collection, apply, `{}`},
		{"PATCH", one, merge, ``},
		{"PATCH", one, merge, `null`},
		{"PATCH", collection, merge, `{}`},
		{"DELETE", one, "application/json", `[]`},
		{"DELETE", one, "application/json", `{}`},
	} {
		request := client.Verb(each.verb).AbsPath(each.path).Body([]byte(each.body)).SetHeader("Content-Type", each.media)
		if each.media == apply {
			request.Param("fieldManager", "me")
		}
		_ = request.Do(t.Context()).Error() // also what the server rejects is recorded
	}

	path := filepath.Join(t.TempDir(), "session.yaml")
	steps, failures, err := recorder.Write(t.Context(), path, InitialState{})
	text, _ := os.ReadFile(path)
	if err != nil || len(failures) > 0 || steps != 22 {
		t.Fatalf("%d steps of 22, %v, %v\n%s", steps, failures, err, text)
	}
	for _, want := range []string{
		"- create: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: \"n\"}}\n  body: {metadata: {name: a}}\n",
		"- create: {apiVersion: v1, kind: Namespace}\n  body: {metadata: {name: \"n\"}}\n",
		"- update: {apiVersion: v1, kind: ConfigMap}\n  to: {apiVersion: v1, kind: ConfigMap, namespace: \"n\", name: a}\n  body: {metadata: {name: a}, data: {x: \"1\"}}\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s\nis not in\n%s", want, text)
		}
	}
}

// A session of a program that speaks protobuf becomes a scenario that passes: without watches,
// discovery and repeated questions, with references to what the server has made.
func TestRecorder(t *testing.T) {
	var recorder Recorder
	// By chance, the address of the Service could be that which the scenario gets when it is played.
	c := fakecluster.Start(t, fakecluster.WithSeed(2), fakecluster.WithMiddleware(recorder.Wrap))
	if err := recorder.Begin(c.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	cfg := c.RESTConfig()
	cfg.ContentType, cfg.AcceptContentTypes, cfg.UserAgent = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json", "operator/v1"
	client := kubernetes.NewForConfigOrDie(cfg)
	configMaps := client.CoreV1().ConfigMaps("default")
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	made, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}, Data: map[string]string{"x": "1"}}, metav1.CreateOptions{})
	must(err)
	for range 3 {
		_, err = configMaps.Get(ctx, made.Name, metav1.GetOptions{})
		must(err)
	}
	stale := made.DeepCopy()
	made.Data["x"] = "2"
	updated, err := configMaps.Update(ctx, made, metav1.UpdateOptions{})
	must(err)
	if _, err := configMaps.Update(ctx, stale, metav1.UpdateOptions{}); err == nil {
		t.Fatal("a stale update is accepted")
	}
	watch, err := configMaps.Watch(ctx, metav1.ListOptions{})
	must(err)
	watch.Stop()
	_, err = client.Discovery().ServerGroups()
	must(err)
	_, err = configMaps.Patch(ctx, made.Name, types.JSONPatchType, fmt.Appendf(nil, `[{"op":"test","path":"/metadata/resourceVersion","value":%q},{"op":"add","path":"/data/y","value":"3"}]`, updated.ResourceVersion), metav1.PatchOptions{FieldManager: "me"})
	must(err)
	_, err = client.CoreV1().Services("default").Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "s", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: made.Name, UID: made.UID}}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	must(err)
	must(configMaps.Delete(ctx, made.Name, metav1.DeleteOptions{}))
	_, err = client.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{})
	must(err)
	account := c.ServiceAccountConfig("default", "robot")
	account.UserAgent = "robot/v1"
	robot := kubernetes.NewForConfigOrDie(account)
	if _, err := robot.CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); err == nil {
		t.Fatal("a service account may list Pods")
	}

	path := filepath.Join(t.TempDir(), "session.yaml")
	steps, failures, err := recorder.Write(ctx, path, InitialState{})
	if err != nil || failures != nil {
		t.Fatalf("%d steps, %v, %v", steps, failures, err)
	}
	text, err := os.ReadFile(path)
	must(err)
	const want = `# yaml-language-server: $schema=` + syntax.SchemaURL + `
scenario: A session of operator, robot
steps:
- create: {apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}, data: {x: "1"}}
  as: configmap1
- get: {apiVersion: v1, kind: ConfigMap, namespace: default, name: !from configmap1.metadata.name}
  expect: {metadata: {generateName: a-}, data: {x: "1"}}
- update:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      namespace: default
      name: !from configmap1.metadata.name
      generateName: a-
      resourceVersion: !from configmap1.metadata.resourceVersion
    data: {x: "2"}
  as: configmap2
- update:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      namespace: default
      name: !from configmap1.metadata.name
      generateName: a-
      resourceVersion: !from configmap1.metadata.resourceVersion
    data: {x: "1"}
  error: {code: 409, reason: Conflict}
- patch: {apiVersion: v1, kind: ConfigMap, namespace: default, name: !from configmap1.metadata.name}
  type: json
  body:
  - op: test
    path: /metadata/resourceVersion
    value: !from configmap2.metadata.resourceVersion
  - {op: add, path: /data/y, value: "3"}
  options: {fieldManager: me}
  expect: {metadata: {generateName: a-}, data: {x: "2", "y": "3"}}
- create:
    apiVersion: v1
    kind: Service
    metadata:
      name: s
      ownerReferences:
      - apiVersion: v1
        kind: ConfigMap
        name: !from configmap1.metadata.name
        uid: !from configmap1.metadata.uid
    spec: {ports: [{port: 80, targetPort: 0}]}
    status: {loadBalancer: {}}
  expect:
    metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: !present }]}
    spec:
      type: ClusterIP
      clusterIP: !present
      clusterIPs: [!present ]
      internalTrafficPolicy: Cluster
      ipFamilies: [IPv4]
      ipFamilyPolicy: SingleStack
      ports: [{port: 80, protocol: TCP, targetPort: 80}]
      sessionAffinity: None
- delete: {apiVersion: v1, kind: ConfigMap, namespace: default, name: !from configmap1.metadata.name}
- create: {apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}
- list: {apiVersion: v1, kind: Pod, namespace: default}
  as: {serviceAccount: default/robot}
  error:
    code: 403
    reason: Forbidden
    message: 'pods is forbidden: User "system:serviceaccount:default:robot" cannot list resource "pods" in API group "" in the namespace "default"'
`
	if d := cmp.Diff(want, string(text)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	again, err := syntax.Load(path)
	must(err)
	player.Player{}.PlayAll(ctx, again, func(r player.Result) {
		if r.Failure != nil {
			t.Error(r.Failure)
		}
	})
}

// A session without end does not fill the memory: what it keeps is bounded, and it says what is missing.
func TestALongSessionIsBounded(t *testing.T) {
	recorder := Recorder{maxSize: 20_000}
	c := fakecluster.Start(t, fakecluster.WithMiddleware(recorder.Wrap))
	if err := recorder.Begin(c.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	const n = 200
	for i := range n {
		if _, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c", i)}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		// What is read is long, and of the scenario a short part.
		if _, err := configMaps.List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	text, steps := recorder.Scenario(InitialState{})
	left := recorder.Omitted()
	if steps+left != 2*n || steps < 20 || left == 0 {
		t.Errorf("%d steps, and %d requests left out", steps, left)
	}
	if len(text) < 20_000 || len(text) > 30_000 {
		t.Errorf("%d bytes", len(text))
	}
	if want := fmt.Sprintf("# The session was too long: it lacks %d further requests.\n", left); !strings.Contains(string(text), want) {
		t.Errorf("the scenario does not say: %s", want)
	}
	path := filepath.Join(t.TempDir(), "session.yaml")
	if _, failures, err := recorder.Write(t.Context(), path, InitialState{}); err != nil || failures != nil {
		t.Errorf("played: %v, %v", failures, err)
	}
}

// The steps are in the order in which the answers begin, however long the server takes to end them.
func TestTheStepsAreInTheOrderOfTheAnswers(t *testing.T) {
	var recorder Recorder
	served := make(chan struct{})
	slow := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			next.ServeHTTP(w, req)
			if req.Method == http.MethodPost && req.Header.Get("User-Agent") == "first" {
				_ = http.NewResponseController(w).Flush()
				<-served // the client has the answer, and goes on
			}
		})
	}
	c := fakecluster.Start(t, fakecluster.WithMiddleware(func(next http.Handler) http.Handler { return recorder.Wrap(slow(next)) }))
	if err := recorder.Begin(c.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	var streams []io.Closer
	for _, name := range []string{"first", "second"} {
		body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q}}`, name)
		stream, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().RESTClient().Post().Namespace("default").Resource("configmaps").
			SetHeader("User-Agent", name).Body([]byte(body)).Stream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, stream)
	}
	close(served)
	for _, stream := range streams {
		_, _ = io.Copy(io.Discard, stream.(io.Reader))
		_ = stream.Close()
	}
	c.Close()
	text, steps := recorder.Scenario(InitialState{})
	first, second := strings.Index(string(text), "{name: first}"), strings.Index(string(text), "{name: second}")
	if steps != 2 || first < 0 || second < first {
		t.Errorf("%d steps: %s", steps, text)
	}
}
