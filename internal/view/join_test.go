package view

import (
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// jsonForm is the form of JSON with objects shown as a kind of meta.k8s.io.
func jsonForm(v *resource.Version, version, kind string) Form {
	f := Form{Accepted: v.Serializer.SupportedMediaTypes()[0], Plain: kind == ""}
	if kind != "" {
		f.Convert = &schema.GroupVersionKind{Group: "meta.k8s.io", Version: version, Kind: kind}
	}
	return f
}

// A list that is joined from its items is what decoding and encoding all of them makes, to
// the byte. In a bubble, because a Table has ages.
func TestJoinedListsAreWhatDecodingWouldMake(t *testing.T) {
	seed := seedtest.Seed(t)
	synctest.Test(t, func(t *testing.T) {
		r := random{seedtest.Source(seed, 0)}
		for _, v := range []*resource.Version{gadget(t, "v1"), gadget(t, "v2"), configMap(t)} {
			for range 400 {
				var items []string
				for n := range r.IntN(5) {
					obj := r.gadget()
					if v.Typed {
						obj = map[string]any{"metadata": obj["metadata"], "data": map[string]any{"a": "<b>"}}
					}
					items = append(items, stored(t, v, obj, int64(n+1)).Value)
				}
				page := Page{Revision: 9}
				if r.IntN(3) == 0 {
					left := int64(5)
					page.Continue, page.Remaining = "token", &left
				}
				kind := oneOf(r, "Table", "Table", "PartialObjectMetadataList")
				form := jsonForm(v, oneOf(r, "v1", "v1beta1"), kind)
				options := metav1.TableOptions{
					NoHeaders:     r.IntN(4) == 0,
					IncludeObject: oneOf(r, "", metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject),
				}
				show := func() *View {
					o := options
					return must(New(v, form, &o))(t)
				}
				if !show().joins() {
					t.Fatalf("a list as %s is not joined", kind)
				}
				joined := must(show().List(t.Context(), page, items))(t)
				slow := show()
				decoded := must(slow.encode(must(slow.convertList(t.Context(), page, items))(t)))(t)
				expect(t, kind+" of "+v.GroupVersion().String(), lines(joined.Text()), lines(string(decoded)))
				if t.Failed() {
					t.FailNow()
				}
				expect(t, "its size", joined.Size, len(decoded))
			}
		}
	})
}

// A list of objects as they are is what the codec makes of a list object.
func TestListsAreWhatEncodingThemWouldMake(t *testing.T) {
	r := random{seedtest.Rand(t)}
	left := int64(3)
	for _, v := range []*resource.Version{gadget(t, "v1"), configMap(t)} {
		for n := range 4 {
			var items []string
			for i := range n {
				items = append(items, stored(t, v, map[string]any{"metadata": r.metadata()}, int64(i+1)).Value)
			}
			for _, page := range []Page{{Revision: 9}, {Revision: 9, Continue: "token"}, {Revision: 9, Continue: "token", Remaining: &left}} {
				content := must(must(New(v, jsonForm(v, "", ""), nil))(t).List(t.Context(), page, items))(t)
				list := must(runtime.Decode(v.Serializer.DecoderToVersion(v.Serializer.SupportedMediaTypes()[0].Serializer, v.GroupVersion()), []byte(content.Text())))(t)
				encoded := must(runtime.Encode(v.Serializer.EncoderForVersion(v.Serializer.SupportedMediaTypes()[0].Serializer, v.GroupVersion()), list))(t)
				expect(t, "list of "+v.GroupVersion().String(), lines(content.Text()), lines(string(encoded)))
				expect(t, "its size", content.Size, len(encoded))
			}
		}
	}
}
