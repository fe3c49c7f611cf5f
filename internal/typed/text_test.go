package typed

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

func emptyOf(obj runtime.Object) runtime.Object {
	return reflect.New(reflect.TypeOf(obj).Elem()).Interface().(runtime.Object)
}

// isPlain tells of a type that plain JSON is all that it is encoded to: no type in it encodes
// itself.
func isPlain(obj runtime.Object) bool {
	switch obj.(type) {
	case *apiextensionsv1.CustomResourceDefinition, *resourcev1.ResourceClaim:
		return false
	}
	return true
}

func TestEncodePrintsWhatEncodingJSONDoes(t *testing.T) {
	objects(t, func(t *testing.T, all []runtime.Object) {
		for _, obj := range all {
			before := obj.DeepCopyObject()
			got, _, err := Encode([]byte("x"), obj)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("x"+string(text(t, obj)), string(got)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if !reflect.DeepEqual(before, obj) {
				t.Error("the object has been altered")
			}
		}
	})
}

func TestEncodeTellsOfWhatProtobufDoesNotHave(t *testing.T) {
	objects(t, func(t *testing.T, all []runtime.Object) {
		for _, obj := range all {
			own := obj.DeepCopyObject()
			if !Settle(own) {
				continue
			}
			before, hollow, err := Encode(nil, own)
			if err != nil {
				t.Fatal(err)
			}
			if AsProtobuf(own) && !hollow {
				t.Errorf("nothing was said of %s", before)
			}
		}
	})
}

func TestEncodeCompactsTheFieldsThatAreOwned(t *testing.T) {
	for name, raw := range map[string]string{
		"as it is":                `{"f:spec":{"k:{\"name\":\"a\"}":{".":{}}}}`,
		"white space":             "{\n \"f:a\": {} }",
		"white space in a name":   `{"f:a b":{}}`,
		"what HTML might misread": `{"f:<&>":{}}`,
		"the end of a line":       "{\"f:\u2028\":{}}",
		"no JSON":                 `{`,
		"more than JSON":          `{}{}`,
		"nothing":                 ``,
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			pod.ManagedFields = managedBy(raw)
			want, wantErr := json.Marshal(pod)
			got, _, err := Encode(nil, pod)
			if (err != nil) != (wantErr != nil) {
				t.Fatalf("got %v, want %v", err, wantErr)
			}
			if err == nil && string(got) != string(want) {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestDecodeReadsWhatIsPrinted(t *testing.T) {
	objects(t, func(t *testing.T, all []runtime.Object) {
		for _, obj := range all {
			body := text(t, obj)
			var indented bytes.Buffer
			if err := json.Indent(&indented, body, "", "\t"); err != nil {
				t.Fatal(err)
			}
			for _, body := range []string{string(body), indented.String()} {
				want, got := emptyOf(obj), emptyOf(obj)
				if _, err := kjson.UnmarshalStrict([]byte(body), want); err != nil {
					t.Fatal(err)
				}
				if !Decode(body, got) {
					if isPlain(obj) {
						t.Fatalf("not read: %s", body)
					}
					continue
				}
				if !reflect.DeepEqual(want, got) {
					t.Fatalf("not as it is read (-want +got):\n%s", cmp.Diff(want, got))
				}
			}
		}
	})
}

// What Decode reads is what strict decoding reads without a complaint.
func TestDecodeReadsNoMoreThanStrictDecoding(t *testing.T) {
	randomly(t, func(t *testing.T, r *rand.Rand, all []runtime.Object) {
		read, refused := 0, 0
		for _, obj := range all {
			for range 10 {
				is := tree(t, obj)
				disturb(r, is)
				body := text(t, is)
				if r.IntN(10) == 0 { // a field twice
					body = bytes.Replace(body, []byte(`{"`), []byte(`{"metadata":{},"`), 1+r.IntN(2))
				}
				want, got := emptyOf(obj), emptyOf(obj)
				complaints, err := kjson.UnmarshalStrict(body, want)
				if !Decode(string(body), got) {
					refused++
					continue
				}
				read++
				if err != nil || len(complaints) > 0 {
					t.Fatalf("%s was read, though: %v %v", body, err, complaints)
				}
				if !reflect.DeepEqual(want, got) {
					t.Fatalf("%s is not as it is read (-want +got):\n%s", body, cmp.Diff(want, got))
				}
			}
		}
		if isPlain(all[0]) && (read < 30 || refused < 10) {
			t.Errorf("%d were read, %d were not", read, refused)
		}
	})
}

// disturb changes some values of a tree: to null, to a value of another type, to nothing; or
// adds a field.
func disturb(r *rand.Rand, obj map[string]any) {
	for name, value := range obj {
		switch r.IntN(120) {
		case 0:
			delete(obj, name)
		case 1, 2:
			obj[name] = nil
		case 3:
			obj[name] = []any{
				"text", "", int64(1), int64(1) << 40, 1.5, true, map[string]any{}, map[string]any{"a": nil}, []any{}, []any{nil}, []any{"a"},
				"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456Z", "1e3", "ü\u2028\"<", 1e300, int64(-1),
			}[r.IntN(17)]
		case 4:
			if r.IntN(4) == 0 {
				obj["unknown"] = "x"
			}
		default:
			disturbIn(r, value)
		}
	}
}

func disturbIn(r *rand.Rand, value any) {
	switch value := value.(type) {
	case map[string]any:
		disturb(r, value)
	case []any:
		for i := range value {
			if r.IntN(100) == 0 {
				value[i] = nil
			}
			disturbIn(r, value[i])
		}
	}
}

// What Merge makes of an object is what reading the JSON gives that a merge patch makes of
// its JSON.
func TestMergeIsAMergePatch(t *testing.T) {
	randomly(t, func(t *testing.T, r *rand.Rand, all []runtime.Object) {
		merged, refused := 0, 0
		for i, obj := range all {
			current := obj.DeepCopyObject()
			if !Settle(current) {
				t.Fatal("not settled")
			}
			was := text(t, current)
			for n := range 10 {
				patch := randomPatch(t, r, was, text(t, all[(i+1)%len(all)]), n)
				after, err := jsonpatch.MergePatch(was, patch)
				if err != nil {
					t.Fatal(err)
				}
				want, got := emptyOf(obj), current.DeepCopyObject()
				complaints, err := kjson.UnmarshalStrict(after, want)
				var parsed map[string]any
				if err := kjson.UnmarshalCaseSensitivePreserveInts(patch, &parsed); err != nil {
					t.Fatal(err)
				}
				if Merge(got, parsed) != nil {
					refused++
					continue
				}
				merged++
				if err != nil || len(complaints) > 0 {
					t.Fatalf("%s was merged, though: %v %v", patch, err, complaints)
				}
				if !reflect.DeepEqual(want, got) {
					t.Fatalf("%s is merged into %s otherwise (-want +got):\n%s", patch, was, cmp.Diff(want, got))
				}
			}
		}
		if isPlain(all[0]) && (merged < 50 || refused < len(all)) {
			t.Errorf("%d were merged, %d were not", merged, refused)
		}
	})
}

// randomPatch is the way from one object to another, all of it or a part, and at times with
// mistakes.
func randomPatch(t *testing.T, r *rand.Rand, from, to []byte, n int) []byte {
	t.Helper()
	patch, err := jsonpatch.CreateMergePatch(from, to)
	if err != nil {
		t.Fatal(err)
	}
	var is map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(patch, &is); err != nil {
		t.Fatal(err)
	}
	thin(r, is)
	if n%2 == 1 {
		disturb(r, is)
	}
	if n == 0 {
		is["unknown"] = "x"
	}
	return text(t, is)
}

// thin drops some fields.
func thin(r *rand.Rand, obj map[string]any) {
	for name, value := range obj {
		if r.IntN(4) == 0 {
			delete(obj, name)
		} else if m, ok := value.(map[string]any); ok {
			thin(r, m)
		}
	}
}

func managedBy(raw string) []metav1.ManagedFieldsEntry {
	fields := &metav1.FieldsV1{}
	fields.SetRawString(raw)
	return []metav1.ManagedFieldsEntry{{Manager: "a", FieldsV1: fields}}
}
