package typed

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestShareChangesNoValue(t *testing.T) {
	objects(t, func(t *testing.T, all []runtime.Object) {
		for i := 0; i < len(all); i += 2 {
			obj, with := all[i].DeepCopyObject(), all[i+1]
			before := with.DeepCopyObject()
			Share(obj, with)
			if !reflect.DeepEqual(obj, all[i]) {
				t.Fatal("the object has another value")
			}
			if !reflect.DeepEqual(with, before) {
				t.Fatal("the other object has been altered")
			}
		}
	})
}

func TestShareUsesOneMemoryForWhatIsTheSame(t *testing.T) {
	grace := int64(30)
	pod := func(image string) *corev1.Pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{
			Containers:   []corev1.Container{{Name: "a", Env: []corev1.EnvVar{{Name: "x"}}}, {Name: "b", Image: image, Args: []string{"y"}}},
			NodeSelector: map[string]string{"a": "b"}, TerminationGracePeriodSeconds: &grace,
		}}
		p.Labels = map[string]string{"image": image}
		return p.DeepCopy()
	}
	obj, with := pod("1"), pod("2")
	Share(obj, with)
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
	obj, with = pod("1"), pod("1")
	obj.Spec.Volumes = []corev1.Volume{}
	Share(obj, with)
	if obj.Spec.Volumes == nil {
		t.Error("an empty list has become none")
	}
}
