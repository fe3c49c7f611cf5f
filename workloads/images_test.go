package workloads_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/workloads"
)

// images returns the images in the status of a Node, one in each line.
func (w world) images(node string) string {
	w.Helper()
	n, err := w.client.CoreV1().Nodes().Get(w.Context(), node, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	var lines []string
	for _, i := range n.Status.Images {
		lines = append(lines, fmt.Sprint(i.SizeBytes, " ", strings.Join(i.Names, " ")))
	}
	return strings.Join(lines, "\n")
}

// TestNodesReportImages proves that a Node reports the images that its containers have run, the largest one first, and no more than 50, every 30 seconds.
func TestNodesReportImages(t *testing.T) {
	inBubble(t, func(w world) {
		digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
		w.createPod("a", "{nodeName: n1, initContainers: [{name: i, image: busybox}], containers: [{name: a, image: 'docker.io/library/nginx:1.27'}, {name: b, image: 'nginx:1.27'}]}")
		w.createPod("b", "{nodeName: n1, containers: [{name: a, image: 'ghcr.io/acme/tool@"+digest+"'}, {name: b, image: '${IMAGE}'}]}")
		w.pass(9 * time.Second)
		if got := w.images("n1"); got != "" {
			w.Errorf("after 9 seconds: %s", got)
		}
		w.pass(30 * time.Second)
		size := func(image string) string {
			w.Helper()
			for _, pod := range []string{"a", "b"} {
				for _, e := range w.events(pod) {
					if text, ok := strings.CutPrefix(e, fmt.Sprintf("Pulled: Successfully pulled image %q in ", image)); ok {
						_, text, _ = strings.Cut(text, "Image size: ")
						return strings.TrimSuffix(text, " bytes.")
					}
				}
			}
			w.Errorf("no Event has the size of %s", image)
			return ""
		}
		want := []string{
			size("busybox") + " docker.io/library/busybox@sha256:5528098e567ca20b01bf3bfcb0328e8389f392bc8c96314b2773f066a089585b docker.io/library/busybox:latest",
			size("docker.io/library/nginx:1.27") + " docker.io/library/nginx@sha256:ad87357fd60374cde820c886855c0ea6ac05b3f91ffc00cdbc129d8331177e01 docker.io/library/nginx:1.27",
			size("ghcr.io/acme/tool@"+digest) + " ghcr.io/acme/tool@" + digest,
		}
		if got := w.images("n1"); got != strings.Join(want, "\n") {
			w.Errorf("the Node has the images\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
		if got := w.images("n2"); got != "" {
			w.Errorf("the other Node has the images %s", got)
		}

		before := w.images("n1")
		if _, err := w.client.CoreV1().Nodes().Patch(w.Context(), "n1", types.MergePatchType, []byte(`{"status": {"images": [{"names": ["other:1"], "sizeBytes": 3}]}}`), metav1.PatchOptions{}, "status"); err != nil {
			w.Fatal(err)
		}
		w.pass(10 * time.Second)
		if got := w.images("n1"); got != before {
			w.Errorf("after a patch the Node has the images %s", got)
		}

		var containers []string
		for i := range 60 {
			containers = append(containers, fmt.Sprintf("{name: c%d, image: 'many:%d'}", i, i))
		}
		w.createPod("many", "{nodeName: n2, containers: ["+strings.Join(containers, ", ")+"]}")
		w.pass(2 * time.Minute)
		if got := strings.Count(w.images("n2"), "docker.io/library/many:"); got != 50 {
			w.Errorf("the Node reports %d images", got)
		}
	}, workloads.Nodes(2))
}

// TestImagesThatANodeHas proves that a Node starts with the images that it is given, or has reported, and does not pull them.
func TestImagesThatANodeHas(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"docker.io/library/web:1"}, SizeBytes: 42}}}}
	inBubble(t, func(w world) {
		w.createPod("a", "{containers: [{name: a, image: 'web:1'}, {name: b, image: 'other:1'}]}")
		w.pass(time.Minute)
		want := "Pulled: Container image \"web:1\" already present on machine and can be accessed by the pod"
		if got := strings.Join(w.events("a"), "\n"); !strings.Contains(got, want) {
			w.Errorf("the Events are\n%s", got)
		}
		before := w.images("n1")
		if !strings.HasSuffix(before, "\n42 docker.io/library/web:1") || strings.Count(before, "\n") != 1 {
			w.Errorf("the Node has the images %s", before)
		}
		if err := w.client.CoreV1().Pods("default").Delete(w.Context(), "a", metav1.DeleteOptions{}); err != nil {
			w.Fatal(err)
		}
		w.pass(time.Minute)
		if err := w.Close(); err != nil {
			w.Fatal(err)
		}
		workloads.Run(w.T, w.cluster, workloads.NodeObjects(node))
		w.pass(time.Minute)
		if got := w.images("n1"); got != before {
			w.Errorf("the next time the Node has the images %s, want %s", got, before)
		}
	}, workloads.NodeObjects(node))
}
