package living

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBehaviorsSelectContainers(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-7d9f-x2x", Labels: map[string]string{"app": "web", "tier": "front"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-7d9f"}},
		},
	}
	container := &corev1.Container{Name: "server", Image: "ghcr.io/acme/web:v1"}
	for _, test := range []struct {
		name     string
		behavior Behavior
		want     bool
	}{
		{"nothing is selected: every container", Behavior{}, true},
		{"image with its tag", Behavior{Image: "ghcr.io/acme/web:v1"}, true},
		{"image without a tag", Behavior{Image: "ghcr.io/acme/web"}, true},
		{"image with another tag", Behavior{Image: "ghcr.io/acme/web:v2"}, false},
		{"pattern of an image", Behavior{Image: "ghcr.io/acme/*"}, true},
		{"namespace", Behavior{Namespace: "shop"}, true},
		{"another namespace", Behavior{Namespace: "default"}, false},
		{"pattern of a name", Behavior{Name: "web-*"}, true},
		{"another container", Behavior{Container: "proxy"}, false},
		{"owner", Behavior{Owner: "ReplicaSet/web-7d9f"}, true},
		{"owner of the owner", Behavior{Owner: "Deployment/web"}, true},
		{"another owner", Behavior{Owner: "Deployment/db"}, false},
		{"owner of another kind", Behavior{Owner: "StatefulSet/web"}, false},
		{"service", Behavior{Service: "web"}, true},
		{"pattern of a service", Behavior{Service: "*-metrics"}, true},
		{"another service", Behavior{Service: "db"}, false},
		{"all labels", Behavior{Labels: map[string]string{"app": "web", "tier": "front"}}, true},
		{"not all labels", Behavior{Labels: map[string]string{"app": "web", "tier": "back"}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.behavior.Matches(pod, container, func(*corev1.Pod) []string { return []string{"web", "web-metrics"} }); got != test.want {
				t.Errorf("matches %t, want %t", got, test.want)
			}
		})
	}
}

func TestBehaviorsAreData(t *testing.T) {
	const data = `{"image":"web","exitCode":1,"failures":2,"readyDelay":"1m30s","usage":{"cpu":"100m"}}`
	var b Behavior
	if err := json.Unmarshal([]byte(data), &b); err != nil {
		t.Fatal(err)
	}
	if b.ReadyDelay != 90*time.Second || b.Failures != 2 || *b.ExitCode != 1 || b.Usage.Cpu().String() != "100m" {
		t.Errorf("read %+v", b)
	}
	written, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if json.Unmarshal(written, &got) != nil || json.Unmarshal([]byte(data), &want) != nil || !cmp.Equal(want, got) {
		t.Errorf("written as %s, want the fields of %s", written, data)
	}
	if err := json.Unmarshal([]byte(`{"exitcode":1,"crash":true}`), &b); err == nil {
		t.Error("an unknown field is accepted")
	}
}
