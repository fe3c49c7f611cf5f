package workloads_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/workloads"
)

// web is a Deployment of two pods, and a Service whose port 443 leads to their port https.
const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: server, image: web, ports: [{name: https, containerPort: 8443}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 443, targetPort: https}]
`

// serve serves a handler over TLS in all pods of web, until stop is called.
func (w world) serve(a *authentication.Authority, handler func(pod string) http.Handler) (stop func()) {
	w.Helper()
	var servers []*http.Server
	certificate, err := a.ServerCertificate("web.default.svc")
	if err != nil {
		w.Fatal(err)
	}
	for i, pod := range w.list("pods") {
		l, err := w.ListenIn(field(&pod, "status.podIP"), ":8443")
		if err != nil {
			w.Fatal(err)
		}
		s := &http.Server{
			Handler: handler(fmt.Sprint("pod ", i)), ErrorLog: log.New(io.Discard, "", 0),
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert},
		}
		go func() { _ = s.ServeTLS(l, "", "") }()
		servers = append(servers, s)
	}
	stop = func() {
		for _, s := range servers {
			_ = s.Close()
		}
	}
	w.Cleanup(stop)
	return stop
}

// inPod denies admission, converts objects by their apiVersion, and serves the version v1 of metrics.example.com.
func inPod(pod string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/validate", func(w http.ResponseWriter, req *http.Request) {
		review := admissionv1.AdmissionReview{}
		_ = json.NewDecoder(req.Body).Decode(&review)
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: req.Host + " says no"}}
		_ = json.NewEncoder(w).Encode(review)
	})
	mux.HandleFunc("/convert", func(w http.ResponseWriter, req *http.Request) {
		review := apiextensionsv1.ConversionReview{}
		_ = json.NewDecoder(req.Body).Decode(&review)
		review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
		for _, o := range review.Request.Objects {
			u := &unstructured.Unstructured{}
			_ = u.UnmarshalJSON(o.Raw)
			u.SetAPIVersion(review.Request.DesiredAPIVersion)
			review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: u})
		}
		_ = json.NewEncoder(w).Encode(review)
	})
	mux.HandleFunc("/apis/metrics.example.com/v1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"metrics.example.com/v1","resources":[]}`)
	})
	mux.HandleFunc("/apis/metrics.example.com/v1/who", func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, pod, " for ", req.Header.Get("X-Remote-User"))
	})
	return mux
}

// configMap returns the error of creating a ConfigMap.
func (w world) configMap() string {
	_, err := w.client.CoreV1().ConfigMaps("default").Create(w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "c-"}}, metav1.CreateOptions{})
	if err != nil {
		return err.Error()
	}
	return ""
}

func (w world) check(what, got, want string) {
	w.Helper()
	if got != want {
		w.Errorf("%s is %s\nwant %s", what, got, want)
	}
}

func TestTheAPIServerReachesPodsThroughTheirService(t *testing.T) {
	inBubble(t, func(w world) {
		a, err := authentication.NewAuthority("test")
		if err != nil {
			w.Fatal(err)
		}
		bundle, _ := json.Marshal(a.PEM())
		w.create(fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: web}
webhooks:
- name: web.example.com
  clientConfig: {service: {namespace: default, name: web, path: /validate}, caBundle: %s}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
  admissionReviewVersions: [v1]
  sideEffects: None
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: crontabs, kind: CronTab}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {namespace: default, name: web, path: /convert}, caBundle: %[1]s}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.metrics.example.com}
spec:
  group: metrics.example.com
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 10
  service: {namespace: default, name: web}
  caBundle: %[1]s
---
apiVersion: example.com/v1
kind: CronTab
metadata: {name: c}
`, bundle))
		const call = `Internal error occurred: failed calling webhook "web.example.com": failed to call webhook: Post "https://web.default.svc:443/validate?timeout=10s": `
		v2 := w.cluster.Dynamic().Resource(schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "crontabs"}).Namespace("default")
		w.check("the error", w.configMap(), call+`service "web" not found`)
		_, err = v2.Get(w.Context(), "c", metav1.GetOptions{})
		if want := `conversion webhook for example.com/v1, Kind=CronTab failed: Post "https://web.default.svc:443/convert?timeout=30s": service "web" not found`; err == nil || !strings.HasSuffix(err.Error(), want) {
			w.Errorf("the error is %v\nwant one that ends with %s", err, want)
		}
		w.check("the APIService", condition(w.object("apiservices", "v1.metrics.example.com"), "Available"), "False ServiceNotFound")

		w.create(web)
		address := field(w.object("services", "web"), "spec.clusterIP") + ":443"
		w.check("the error", w.configMap(), call+"dial tcp "+address+": connect: connection refused")

		w.serve(a, inPod)
		w.check("the error", w.configMap(), `admission webhook "web.example.com" denied the request: web.default.svc:443 says no`)
		converted, err := v2.Get(w.Context(), "c", metav1.GetOptions{})
		if err != nil || converted.GetAPIVersion() != "example.com/v2" {
			w.Errorf("%v; %v", converted, err)
		}
		body, err := w.client.Discovery().RESTClient().Get().AbsPath("/apis/metrics.example.com/v1/who").DoRaw(w.Context())
		if who := string(body); err != nil || who != "pod 0 for kubernetes-admin" && who != "pod 1 for kubernetes-admin" {
			w.Errorf("%q answers; %v", who, err)
		}
		w.check("the APIService", condition(w.object("apiservices", "v1.metrics.example.com"), "Available"), "True Passed")

		// The connections to pods that end are reset.
		w.patch("deployments", "web", `{"spec":{"replicas":0}}`)
		w.pass(time.Minute)
		w.check("the error", w.configMap(), call+"dial tcp "+address+": connect: connection refused")
	}, workloads.Nodes(1))
}

func TestTheTestReachesPods(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(web)
		a, err := authentication.NewAuthority("test")
		if err != nil {
			w.Fatal(err)
		}
		w.serve(a, func(pod string) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { fmt.Fprint(w, pod, " by ", req.Proto) })
		})
		get := func(url string, roots *x509.CertPool) string {
			w.Helper()
			client := w.HTTPClient()
			client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
			req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, url, nil)
			if err != nil {
				w.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+w.cluster.RESTConfig().BearerToken)
			resp, err := client.Do(req)
			if err != nil {
				return err.Error()
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				w.Error(err)
			}
			return string(body)
		}
		for range 2 {
			if got := get("https://web.default.svc", a.Pool()); got != "pod 0 by HTTP/2.0" && got != "pod 1 by HTTP/2.0" {
				w.Error(got)
			}
		}
		pod := &w.list("pods")[0]
		ip, name := field(pod, "status.podIP"), pod.GetName()
		_, err = w.Dial(w.Context(), "tcp", ip+":80")
		w.check("the error", fmt.Sprint(err), "dial tcp "+ip+":80: connect: connection refused")
		w.delete("pods", name)
		_, err = w.Dial(w.Context(), "tcp", ip+":8443")
		w.check("the error", fmt.Sprint(err), "dial tcp "+ip+":8443: connect: no route to host")

		// The API server answers in the network, too.
		ca := x509.NewCertPool()
		bundle, _, _ := unstructured.NestedString(w.object("configmaps", "kube-root-ca.crt").Object, "data", "ca.crt")
		ca.AppendCertsFromPEM([]byte(bundle))
		if got := get("https://kubernetes.default.svc/version", ca); !strings.Contains(got, `"gitVersion": "v1.`) {
			w.Errorf("the API server answers %s", got)
		}
	}, workloads.Nodes(1))
}

func TestWithoutNodesThereIsNoNetwork(t *testing.T) {
	w := workloads.Run(t, fakecluster.Start(t, fakecluster.InProcess()), workloads.Controllers())
	_, err := w.HTTPClient().Get("http://web/")
	if want := `Get "http://web/": dial tcp: there are no Nodes; add workloads.Nodes(1)`; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

// TestPacketsReachThePodsOfAService proves that containers answer UDP behind a Service, for each other and for the test.
func TestPacketsReachThePodsOfAService(t *testing.T) {
	answers := make(chan string, 1)
	inBubble(t, func(w world) {
		w.create(`
apiVersion: v1
kind: Service
metadata: {name: clock}
spec: {selector: {app: clock}, ports: [{port: 37, targetPort: 3700, protocol: UDP}]}
---
apiVersion: v1
kind: Pod
metadata: {name: clock, labels: {app: clock}}
spec: {containers: [{name: c, image: clock}]}
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec: {restartPolicy: Never, containers: [{name: c, image: client}]}
`)
		conn, err := w.Dial(w.Context(), "udp", "clock:37")
		if err != nil {
			w.Fatal(err)
		}
		defer conn.Close()
		text := make([]byte, 100)
		if _, err := conn.Write([]byte("test")); err != nil {
			w.Fatal(err)
		}
		n, err := conn.Read(text)
		if err != nil || string(text[:n]) != "hello test" {
			w.Errorf("the answer is %q: %v", text[:n], err)
		}
		if got := <-answers; got != "hello client" {
			w.Errorf("the answer to the Pod is %q", got)
		}
	}, workloads.Nodes(2), workloads.Image("clock", func(ctx context.Context, c *workloads.Container) error {
		socket, err := c.ListenPacket("udp", ":3700")
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { _ = socket.Close() })
		text := make([]byte, 100)
		for {
			n, from, err := socket.ReadFrom(text)
			if err != nil {
				return nil
			}
			if _, err := socket.WriteTo(append([]byte("hello "), text[:n]...), from); err != nil {
				return err
			}
		}
	}), workloads.Image("client", func(ctx context.Context, c *workloads.Container) error {
		conn, err := c.Dial(ctx, "udp", "clock.default.svc:37")
		if err != nil {
			return err
		}
		if _, err := conn.Write([]byte("client")); err != nil {
			return err
		}
		text := make([]byte, 100)
		n, err := conn.Read(text)
		answers <- string(text[:n])
		return err
	}))
}

// A container that listens and never accepts does not stop a test for ever.
func TestAListenerThatNeverAcceptsIsNamed(t *testing.T) {
	inBubble(t, func(w world) {
		w.post("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: web}]}}")
		w.pass(time.Minute)
		_, err := w.HTTPClient().Get("http://" + field(w.object("pods", "web"), "status.podIP") + "/")
		if err == nil || !strings.HasSuffix(err.Error(), ":80: the connection was not accepted for 1h0m0s: the program that listens there must call Accept, or http.Serve") {
			t.Errorf("the error is %v", err)
		}
	}, workloads.Nodes(1), workloads.Image("web", func(ctx context.Context, c *workloads.Container) error {
		listener, err := c.Listen("tcp", ":80")
		if err != nil {
			return err
		}
		<-ctx.Done()
		return listener.Close()
	}))
}
