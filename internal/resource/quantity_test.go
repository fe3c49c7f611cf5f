package resource

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// In protobuf a uid and a quantity are bytes like others. A uid may well have a digit, an e and
// many digits in a row.
func TestOnlyQuantitiesAreGigantic(t *testing.T) {
	pods := NewTypedCodec(scheme.Scheme, corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion, "", nil)
	wire := func(uid, name, cpu string) []byte {
		t.Helper()
		pod := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: "UID", Labels: map[string]string{"commit": "5e123456789"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{"cpu": apiresource.MustParse("123456789012")}}}}},
		}
		pod.UID = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		raw, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		raw = bytes.Replace(raw, []byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), []byte(uid), 1)
		return bytes.Replace(raw, []byte("123456789012"), []byte(cpu), 1)
	}
	const uid = "b0d1e2f3-4a5b-4c6d-8e7f-901234567890"
	for _, c := range []struct {
		rule string
		body []byte
		want error
	}{
		{"a usual Pod", wire(uid, "a", "123456789012"), nil},
		{"a uid like a number", wire("b0d1e234-5678-4c6d-8e7f-9e1234567890", "a", "123456789012"), nil},
		{"a name like a number", wire(uid, "5e123456789", "123456789012"), nil},
		{"a gigantic quantity", wire(uid, "a", "1e9999999999"), apiresource.ErrFormatWrong},
		{"a small one", wire(uid, "a", "1e-999999999"), apiresource.ErrFormatWrong},
	} {
		if err := pods.CheckBody(c.body, false); err != c.want {
			t.Errorf("%s: %v, want %v", c.rule, err, c.want)
		}
	}
	for text, want := range map[string]error{
		`{"metadata":{"labels":{"commit":"5e123456789"}}}`:                                       nil,
		`{"spec":{"nodeSelector":{"a":"5e123456789"}}}`:                                          nil,
		`{"spec":{"containers":[{"image":"5e123456"}]}}`:                                         nil,
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":"5e123456"}}}]}}`:                  nil,
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":"5e1234567"}}}]}}`:                 apiresource.ErrFormatWrong,
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":"5e-1234567"}}}]}}`:                apiresource.ErrFormatWrong,
		`[{"op":"replace","path":"/spec/containers/0/resources/limits/cpu","value":1e12345678}]`: apiresource.ErrFormatWrong,
	} {
		if err := pods.CheckBody([]byte(text), true); err != want {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}
