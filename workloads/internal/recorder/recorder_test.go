package recorder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/testing/compare"
)

// events is a server that has Events. It notes a line for each request.
type events struct {
	t     *testing.T
	last  corev1.Event
	gone  bool // the next patch finds nothing
	lines []string
}

// RoundTrip implements http.RoundTripper.
func (s *events) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	code := http.StatusOK
	if req.Method == http.MethodPatch && s.gone {
		s.gone, code = false, http.StatusNotFound
		s.lines = append(s.lines, "PATCH not found")
	} else {
		if req.Method == http.MethodPost {
			s.last = corev1.Event{}
		}
		if err := json.Unmarshal(body, &s.last); err != nil { // a patch sets fields
			s.t.Error(err)
		}
		object, source := s.last.InvolvedObject, s.last.Source
		field := ""
		if object.FieldPath != "" {
			field = " " + object.FieldPath
		}
		s.lines = append(s.lines, fmt.Sprintf("%s %s %s/%s uid=%s%s from %s on %q: %s %s: %s (x%d)", req.Method, s.last.Namespace, object.Kind, object.Name, object.UID,
			field, source.Component, source.Host, s.last.Type, s.last.Reason, s.last.Message, s.last.Count))
	}
	answer, err := json.Marshal(&s.last)
	if code == http.StatusNotFound {
		answer, err = json.Marshal(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer)), Request: req}, err
}

// newRecorder returns a recorder whose Events a server of the test gets.
func newRecorder(t *testing.T, component, node string) (*Recorder, *events) {
	server := &events{t: t}
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://server", Transport: server, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	return New(component, node, client), server
}

var pod = &corev1.Pod{
	ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"},
	Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
}

// TestEventsReferToTheirObjects proves what the Events of a node say about what they are about.
func TestEventsReferToTheirObjects(t *testing.T) {
	r, server := newRecorder(t, "kubelet", "n1")
	r.Pod(t.Context(), pod, "Normal", "Killing", "Stopping %s", "it")
	r.Container(t.Context(), pod, &pod.Spec.Containers[0], "Warning", "BackOff", "Again")
	r.Container(t.Context(), pod, &corev1.Container{}, "Normal", "Pulled", "The container is not of the pod")
	r.Node(t.Context(), "Normal", "Starting", "Starting kubelet.")
	compare.Equal(t, "the requests", server.lines, []string{
		`POST shop Pod/web uid=1 from kubelet on "n1": Normal Killing: Stopping it (x1)`,
		`POST shop Pod/web uid=1 spec.containers{c} from kubelet on "n1": Warning BackOff: Again (x1)`,
		`POST shop Pod/web uid=1 implicitly required container  from kubelet on "n1": Normal Pulled: The container is not of the pod (x1)`,
		`POST default Node/n1 uid=n1 from kubelet on "n1": Normal Starting: Starting kubelet. (x1)`,
	})
	r, server = newRecorder(t, "attachdetach-controller", "")
	r.Pod(t.Context(), pod, "Warning", "FailedAttachVolume", "100%%")
	compare.Equal(t, "the requests of a component that is not on a node", server.lines, []string{
		`POST shop Pod/web uid=1 from attachdetach-controller on "": Warning FailedAttachVolume: 100% (x1)`,
	})
}

// TestEqualEventsAreCounted proves that an event that repeats is a patch of the count, and is created again if it is gone.
func TestEqualEventsAreCounted(t *testing.T) {
	r, server := newRecorder(t, "kubelet", "n1")
	for i := range 4 {
		server.gone = i == 3
		r.Pod(t.Context(), pod, "Warning", "Failed", "Again")
	}
	compare.Equal(t, "the requests", server.lines, []string{
		`POST shop Pod/web uid=1 from kubelet on "n1": Warning Failed: Again (x1)`,
		`PATCH shop Pod/web uid=1 from kubelet on "n1": Warning Failed: Again (x2)`,
		`PATCH shop Pod/web uid=1 from kubelet on "n1": Warning Failed: Again (x3)`,
		"PATCH not found",
		`POST shop Pod/web uid=1 from kubelet on "n1": Warning Failed: Again (x4)`,
	})
}

// TestAFloodOfEventsIsDropped proves that no more Events about a pod are written than a kubelet writes at once.
func TestAFloodOfEventsIsDropped(t *testing.T) {
	r, server := newRecorder(t, "kubelet", "n1")
	for range 100 {
		r.Pod(t.Context(), pod, "Warning", "Failed", "Again")
	}
	compare.Equal(t, "the number of requests", len(server.lines), 25)
}
