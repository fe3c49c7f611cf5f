package resource

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fakecluster/fakecluster/store"
)

var secretKind = corev1.SchemeGroupVersion.WithKind("Secret")

func secrets() *TypedCodec {
	return NewTypedCodec(scheme.Scheme, secretKind, corev1.SchemeGroupVersion, "", nil)
}

func decode(t *testing.T, c *TypedCodec, text string) (*corev1.Secret, error) {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(c.Serializer().SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		t.Fatal("there is no JSON")
	}
	obj, _, err := c.Decode([]byte(text), info.StrictSerializer)
	secret, _ := obj.Object.(*corev1.Secret)
	return secret, err
}

func TestDecodingByGoType(t *testing.T) {
	for _, c := range []struct{ name, body, encoded, err string }{
		{"what is encoded names its kind", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"type":"Opaque"}`,
			`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"},"type":"Opaque"}`, ""},
		{"a body need not name its kind", `{"metadata":{"name":"a"}}`, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}`, ""},
		{"unknown fields are dropped, with a strict error beside the object", `{"metadata":{"name":"a"},"spec":{}}`,
			`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}`, `strict decoding error: unknown field "spec"`},
		{"duplicate fields as well", `{"metadata":{"name":"a"},"type":"x","type":"y"}`,
			`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"},"type":"y"}`, `strict decoding error: duplicate field "type"`},
		{"a field of the wrong type is an error without an object", `{"type":1}`, "",
			`json: cannot unmarshal number into Go struct field Secret.type of type v1.SecretType`},
	} {
		t.Run(c.name, func(t *testing.T) {
			codec := secrets()
			secret, err := decode(t, codec, c.body)
			if got := text(err); got != c.err {
				t.Errorf("error %q, want %q", got, c.err)
			}
			if secret == nil || c.encoded == "" {
				if secret != nil || c.encoded != "" {
					t.Errorf("decoded: %v", secret)
				}
				return
			}
			encoded, err := codec.Encode(secret)
			if err != nil || string(encoded) != c.encoded {
				t.Errorf("encoded as %s, %v; want %s", encoded, err, c.encoded)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestReadingWhatIsStored(t *testing.T) {
	c := secrets()
	objects, err := c.DecodeAllStored([]store.Record{{Key: "/s/a", Value: `{"metadata":{"name":"a"}}`}, {Key: "/s/b", Value: `{"metadata":{"name":"b"}}`}})
	if err != nil || len(objects) != 2 || objects[0].(*corev1.Secret).Name != "a" || objects[1].(*corev1.Secret).Name != "b" {
		t.Errorf("read %v, %v", objects, err)
	}
	_, err = c.DecodeAllStored([]store.Record{{Key: "/s/a", Value: `{`}})
	if got, want := text(err), "reading /s/a from the store: couldn't get version/kind; json parse error: unexpected end of JSON input"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}

func TestFieldSelectors(t *testing.T) {
	secret := &corev1.Secret{Type: "x"}
	secret.Name, secret.Namespace = "a", "team"
	own := runtime.NewScheme()
	if err := corev1.AddToScheme(own); err != nil {
		t.Fatal(err)
	}
	if err := own.AddFieldLabelConversionFunc(secretKind, func(label, value string) (string, string, error) {
		switch label {
		case "metadata.name", "type":
			return label, value, nil
		case "kind-of-secret":
			return "type", value, nil
		}
		return "", "", fmt.Errorf("field label not supported: %s", label)
	}); err != nil {
		t.Fatal(err)
	}
	attributes := func(obj runtime.Object) (labels.Set, fields.Set, error) {
		secret := obj.(*corev1.Secret)
		return nil, fields.Set{"metadata.name": secret.Name, "type": string(secret.Type)}, nil
	}
	for _, c := range []struct {
		name   string
		codec  *TypedCodec
		fields fields.Set
		labels map[string]string // label to label or error
	}{
		{"without fields of its own, a kind is selected by name and namespace", secrets(),
			fields.Set{"metadata.name": "a", "metadata.namespace": "team"},
			map[string]string{"metadata.name": "metadata.name", "metadata.namespace": "metadata.namespace",
				"type": `"type" is not a known field selector: only "metadata.name", "metadata.namespace"`}},
		{"with fields of its own, by those that its scheme knows", NewTypedCodec(own, secretKind, corev1.SchemeGroupVersion, "", attributes),
			fields.Set{"metadata.name": "a", "type": "x"},
			map[string]string{"metadata.name": "metadata.name", "type": "type", "kind-of-secret": "type",
				"metadata.namespace": "field label not supported: metadata.namespace"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, err := c.codec.Fields(secret)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.fields, set); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			for label, want := range c.labels {
				got, _, err := c.codec.ConvertFieldLabel(label, "v")
				if err != nil {
					got = err.Error()
				}
				if got != want {
					t.Errorf("%s: %q, want %q", label, got, want)
				}
			}
		})
	}
}

// Events are stored in another group than some requests name them in.
func TestObjectsMayBeStoredInAnotherGroup(t *testing.T) {
	own := runtime.NewScheme()
	stored, requested := schema.GroupVersion{Group: "old.x.io", Version: "v1"}, schema.GroupVersion{Group: "new.x.io", Version: "v1"}
	hub := schema.GroupVersion{Group: requested.Group, Version: runtime.APIVersionInternal}
	own.AddKnownTypeWithName(stored.WithKind("Secret"), &corev1.ConfigMap{})
	for _, gv := range []schema.GroupVersion{{Group: stored.Group, Version: runtime.APIVersionInternal}, requested, hub} {
		own.AddKnownTypeWithName(gv.WithKind("Secret"), &corev1.Secret{})
	}
	if err := own.AddConversionFunc((*corev1.ConfigMap)(nil), (*corev1.Secret)(nil), func(from, to any, _ conversion.Scope) error {
		to.(*corev1.Secret).ObjectMeta = from.(*corev1.ConfigMap).ObjectMeta
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	record := store.Record{Key: "/s/a", Value: `{"apiVersion":"old.x.io/v1","kind":"Secret","metadata":{"name":"a"}}`}
	codec := NewTypedCodec(own, requested.WithKind("Secret"), hub, stored.Group, nil)
	obj, err := codec.DecodeStored(record)
	if err != nil || obj.(*corev1.Secret).Name != "a" {
		t.Fatalf("read %v, %v", obj, err)
	}
	if text, err := codec.Encode(obj); err != nil || string(text) != `{"kind":"Secret","apiVersion":"new.x.io/v1","metadata":{"name":"a"}}` {
		t.Errorf("encoded as %s, %v", text, err)
	}
	if obj, err := NewTypedCodec(own, requested.WithKind("Secret"), hub, requested.Group, nil).DecodeStored(record); err == nil {
		t.Errorf("a kind that is stored in its own group reads %v", obj)
	}
}

func TestStrategicMerge(t *testing.T) {
	codec := NewTypedCodec(scheme.Scheme, corev1.SchemeGroupVersion.WithKind("ServiceAccount"), corev1.SchemeGroupVersion, "", nil)
	current := func() *corev1.ServiceAccount {
		return &corev1.ServiceAccount{Secrets: []corev1.ObjectReference{{Name: "a", Kind: "Secret"}}}
	}
	for _, c := range []struct {
		name     string
		patch    map[string]any
		validate bool
		want     []corev1.ObjectReference
		err      string
		patched  bool // the error is a PatchedError
	}{
		{"a list with a merge key is merged by it", map[string]any{"secrets": []any{map[string]any{"name": "b"}}}, false,
			[]corev1.ObjectReference{{Name: "b"}, {Name: "a", Kind: "Secret"}}, "", false},
		{"a $patch directive deletes an item", map[string]any{"secrets": []any{map[string]any{"name": "a", "$patch": "delete"}}}, false,
			[]corev1.ObjectReference{}, "", false},
		{"unknown fields come as a strict error beside the object, if they are to be reported", map[string]any{"x": "y"}, true,
			[]corev1.ObjectReference{{Name: "a", Kind: "Secret"}}, `strict decoding error: unknown field "x"`, false},
		{"with their paths", map[string]any{"metadata": map[string]any{"y": "z"}, "secrets": []any{map[string]any{"name": "a", "x": "y"}}}, true,
			[]corev1.ObjectReference{{Name: "a", Kind: "Secret"}}, `strict decoding error: unknown field "metadata.y", unknown field "secrets[0].x"`, false},
		{"and are dropped otherwise", map[string]any{"x": "y"}, false, []corev1.ObjectReference{{Name: "a", Kind: "Secret"}}, "", false},
		{"a result that is not an object of the kind is a PatchedError", map[string]any{"secrets": "text"}, false, nil,
			"cannot restore slice from string", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			obj, err := codec.StrategicMerge(current(), c.patch, c.validate)
			var patched *PatchedError
			if got := text(err); got != c.err || errors.As(err, &patched) != c.patched {
				t.Errorf("error %q (%T), want %q", got, err, c.err)
			}
			if obj == nil {
				return
			}
			if diff := cmp.Diff(c.want, obj.(*corev1.ServiceAccount).Secrets); diff != "" {
				t.Errorf("secrets (-want +got):\n%s", diff)
			}
		})
	}
}

// What is stored does not depend on how a release of Go writes bytes that are not UTF-8.
func TestReplacementsAreStoredAsCharacters(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"b"}`:               `{"a":"b"}`,
		`{"a":"x\ufffdy\ufffd"}`:  `{"a":"x` + "\ufffd" + `y` + "\ufffd" + `"}`,
		`{"\ufffd":"\n\ufffd\""}`: `{"` + "\ufffd" + `":"\n` + "\ufffd" + `\""}`,
		`{"a":"\\ufffd"}`:         `{"a":"\\ufffd"}`, // a backslash and letters
		`{"a":"\\\ufffd"}`:        `{"a":"\\` + "\ufffd" + `"}`,
		`\ufffd\`:                 "\ufffd" + `\`, // not JSON
	} {
		if got := withReplacements(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
