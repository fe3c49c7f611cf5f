package typed

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestLikeHasTheValueOfTheObject(t *testing.T) {
	objects(t, func(t *testing.T, all []runtime.Object) {
		for i := 0; i < len(all); i += 2 {
			obj, with := all[i].DeepCopyObject(), all[i+1].DeepCopyObject()
			if like := Like(obj, with); !reflect.DeepEqual(like, all[i]) {
				t.Fatal("the result has another value")
			}
			if !reflect.DeepEqual(obj, all[i]) || !reflect.DeepEqual(with, all[i+1]) {
				t.Fatal("an object has been altered")
			}
		}
	})
}

func TestLikeUsesOneMemoryForWhatIsTheSame(t *testing.T) {
	grace := int64(30)
	pod := func(image string) *corev1.Pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{
			Containers:   []corev1.Container{{Name: "a", Env: []corev1.EnvVar{{Name: "x"}}}, {Name: "b", Image: image, Args: []string{"y"}}},
			NodeSelector: map[string]string{"a": "b"}, TerminationGracePeriodSeconds: &grace,
		}}
		p.Labels = map[string]string{"image": image}
		return p.DeepCopy()
	}
	like := func(obj, with *corev1.Pod) *corev1.Pod { return Like(obj, with).(*corev1.Pod) }
	with := pod("2")
	obj := like(pod("1"), with)
	is, was := obj.Spec, with.Spec
	if &is.Containers[0] == &was.Containers[0] {
		t.Error("lists that differ are one")
	}
	if &is.Containers[0].Env[0] != &was.Containers[0].Env[0] || &is.Containers[1].Args[0] != &was.Containers[1].Args[0] {
		t.Error("lists that are the same are two")
	}
	if is.TerminationGracePeriodSeconds != was.TerminationGracePeriodSeconds {
		t.Error("numbers that are the same are two")
	}
	was.NodeSelector["c"], with.Labels["c"] = "d", "d"
	if is.NodeSelector["c"] != "d" || obj.Labels["c"] != "" {
		t.Errorf("maps: %v, %v", is.NodeSelector, obj.Labels)
	}
	// An empty list and none are not the same.
	obj = pod("1")
	obj.Spec.Volumes = []corev1.Volume{}
	if obj = like(obj, pod("1")); obj.Spec.Volumes == nil {
		t.Error("an empty list has become none")
	}
}
