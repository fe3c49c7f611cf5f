package fakecluster_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// protobufClient is a client that sends and accepts protobuf.
func protobufClient(t *testing.T, c *fakecluster.Cluster) *kubernetes.Clientset {
	t.Helper()
	config := c.RESTConfig()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Protobuf carries bytes that are not UTF-8 in its texts, and a real server takes them. What it
// shows in JSON has the replacement character in their place. That is what is stored here.
func TestTextThatIsNotUTF8IsReplaced(t *testing.T) {
	for name, opts := range map[string][]fakecluster.Option{"http": nil, "in process": {fakecluster.InProcess()}} {
		t.Run(name, func(t *testing.T) {
			c := fakecluster.Start(t, opts...)
			maps := protobufClient(t, c).CoreV1().ConfigMaps("default")
			created, err := maps.Create(t.Context(), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"of": "x\xffy"}},
				Data:       map[string]string{"key": "\xc3\x28", "fine": "grün"},
				BinaryData: map[string][]byte{"raw": {0xff, 0xfe}},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := &corev1.ConfigMap{
				Data:       map[string]string{"key": "\ufffd(", "fine": "grün"},
				BinaryData: map[string][]byte{"raw": {0xff, 0xfe}},
			}
			check := func(what string, got *corev1.ConfigMap, err error) {
				t.Helper()
				if err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
				if diff := cmp.Diff(want, &corev1.ConfigMap{Data: got.Data, BinaryData: got.BinaryData}); diff != "" {
					t.Errorf("%s (-want +got)\n%s", what, diff)
				}
				if got.Annotations["of"] != "x\ufffdy" {
					t.Errorf("%s: the annotation is %q", what, got.Annotations["of"])
				}
			}
			check("create", created, nil)
			read, err := maps.Get(t.Context(), "a", metav1.GetOptions{})
			check("get", read, err)
			list, err := maps.List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != 1 {
				t.Fatal(err, list)
			}
			check("list", &list.Items[0], nil)
			plain, err := kubernetes.NewForConfig(c.RESTConfig())
			if err != nil {
				t.Fatal(err)
			}
			read, err = plain.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{})
			check("get as JSON", read, err)
			for _, path := range []string{"/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/configmaps/a"} {
				for _, accept := range []string{"application/yaml", "application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"} {
					// With any release of Go the character is stored, not its escape.
					if code, body := send(t, c, path, "Accept", accept); code != 200 || accept == "application/json" && !strings.Contains(body, "x\ufffdy") {
						t.Errorf("%s as %s: %d %s", path, accept, code, body)
					}
				}
			}
			created.Data["key"] = "\xff"
			updated, err := maps.Update(t.Context(), created, metav1.UpdateOptions{})
			want.Data["key"] = "\ufffd"
			check("update", updated, err)
			patched, err := maps.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"data":{"more":"1"}}`), metav1.PatchOptions{})
			want.Data["more"] = "1"
			check("patch", patched, err)
		})
	}
}

func TestWatchesAsProtobuf(t *testing.T) {
	for name, opts := range map[string][]fakecluster.Option{"http": nil, "in process": {fakecluster.InProcess()}} {
		t.Run(name, func(t *testing.T) {
			c := fakecluster.Start(t, opts...)
			client := protobufClient(t, c)
			pods := client.CoreV1().Pods("default")
			list, err := pods.List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			yes := true
			w, err := pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			pod, err := pods.Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "b"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			patched, err := pods.Patch(t.Context(), "p", types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"a":"c"}}}`), metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			now := int64(0)
			if err := pods.Delete(t.Context(), "p", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
				t.Fatal(err)
			}
			for _, want := range []struct {
				kind watch.EventType
				obj  *corev1.Pod
			}{{watch.Added, pod}, {watch.Modified, patched}, {watch.Modified, nil}, {watch.Deleted, nil}} {
				e := <-w.ResultChan()
				got, ok := e.Object.(*corev1.Pod)
				if e.Type != want.kind || !ok {
					t.Fatalf("%s %T, want %s", e.Type, e.Object, want.kind)
				}
				if want.obj != nil {
					if diff := cmp.Diff(want.obj.ObjectMeta, got.ObjectMeta); diff != "" {
						t.Errorf("%s (-want +got)\n%s", e.Type, diff)
					}
					if diff := cmp.Diff(want.obj.Spec, got.Spec); diff != "" {
						t.Errorf("%s (-want +got)\n%s", e.Type, diff)
					}
				}
			}

			// A list as a watch ends with a bookmark.
			initial, err := client.CoreV1().Namespaces().Watch(t.Context(), metav1.ListOptions{
				SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer initial.Stop()
			var seen []string
			for e := range initial.ResultChan() {
				if e.Type == watch.Bookmark {
					if got := e.Object.(*corev1.Namespace).Annotations; got[metav1.InitialEventsAnnotationKey] != "true" {
						t.Errorf("the bookmark has %v", got)
					}
					break
				}
				seen = append(seen, e.Object.(*corev1.Namespace).Name)
			}
			if diff := cmp.Diff([]string{"default", "kube-node-lease", "kube-public", "kube-system"}, seen); diff != "" {
				t.Error(diff)
			}
		})
	}
}
