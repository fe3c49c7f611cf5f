package schematest

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/schema"
)

// lasting are the facts that hold after a walk. A walk checks whether metadata is canonical
// before it fills in defaults.
const lasting = schema.All &^ schema.EmbeddedCanonical

// CompareVerified compares walks over objects with verified facts with walks over the same
// objects without any: they must have the same result.
func (s *Schema) CompareVerified(t testing.TB, obj, other map[string]any) {
	t.Helper()
	normalized, raw := runtime.DeepCopyJSON(obj), other
	verified := s.Node.Normalize(normalized, schema.Walk{Do: everything, Check: lasting}).Parts

	// A patched object shares with the original what the patch does not touch.
	patched := patch(normalized, raw)
	before := runtime.DeepCopyJSON(normalized)
	s.compareWalks(t, patched,
		schema.Walk{Do: everything, Check: lasting, TrackUnknown: true},
		schema.Walk{Do: everything, Check: lasting, TrackUnknown: true, Like: normalized, LikeVerified: verified})
	if !reflect.DeepEqual(before, normalized) {
		t.Fatalf("the walk over a patched object altered the one that it shares with (-before +after):\n%s\nschema:\n%s", cmp.Diff(before, normalized), s)
	}

	// A write takes the status and the rest from two objects.
	from := runtime.DeepCopyJSON(other)
	otherVerified := s.Node.Normalize(from, schema.Walk{Do: everything, Check: lasting}).Parts
	mixed := maps.Clone(normalized)
	delete(mixed, "status")
	if status, ok := from["status"]; ok {
		mixed["status"] = status
	}
	parts := schema.Parts{Status: otherVerified.Status, Rest: verified.Rest}
	for _, do := range []schema.Action{0, schema.Default} {
		s.compareWalks(t, mixed, schema.Walk{Do: do, Check: lasting}, schema.Walk{Do: do, Check: lasting, Verified: parts})
		s.compareWalks(t, mixed, schema.Walk{Do: do, Check: lasting}, schema.Walk{Do: do, Check: lasting, Like: normalized, LikeVerified: verified})
	}
}

// compareWalks walks over two copies of an object. The second copy shares what the object
// shares with walk.Like.
func (s *Schema) compareWalks(t testing.TB, obj map[string]any, plain, verifying schema.Walk) {
	t.Helper()
	copied, want, got := runtime.DeepCopyJSON(obj), runtime.DeepCopyJSON(obj), copyExcept(obj, verifying.Like)
	wanted, found := s.Node.Normalize(want, plain), s.Node.Normalize(got, verifying)
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("with the verified facts of %+v a walk makes of\n%s\n(-without +with):\n%s\nschema:\n%s", verifying, text(copied), cmp.Diff(want, got), s)
	}
	// A walk does not find verified facts again.
	found.Parts.Status |= verifying.Verified.Status & wanted.Parts.Status
	found.Parts.Rest |= verifying.Verified.Rest & wanted.Parts.Rest
	if !reflect.DeepEqual(wanted, found) {
		t.Fatalf("with the verified facts of %+v a walk finds %+v, without them %+v, for\n%s\nschema:\n%s", verifying, found, wanted, text(copied), s)
	}
	if after := s.facts(want, plain.Check); after != wanted.Facts {
		t.Fatalf("a walk finds out %b, and %b afterwards, of\n%s\nwhich was\n%s\nschema:\n%s", wanted.Facts, after, text(want), text(copied), s)
	}
}

// patch returns an object with the fields of another merged into it. It shares the other
// fields.
func patch(obj, with map[string]any) map[string]any {
	patched := maps.Clone(obj)
	for i, name := range slices.Sorted(maps.Keys(with)) {
		after, isMap := with[name].(map[string]any)
		before, wasMap := obj[name].(map[string]any)
		switch {
		case i%3 == 2: // stays
		case isMap && wasMap:
			patched[name] = patch(before, after)
		default:
			patched[name] = runtime.DeepCopyJSONValue(with[name])
		}
	}
	return patched
}

// copyBut returns a copy of an object. The copy shares with another object what the object
// shares with that.
func copyExcept(obj, shared map[string]any) map[string]any {
	if obj == nil {
		return nil
	}
	own := make(map[string]any, len(obj))
	for name, value := range obj {
		after, isMap := value.(map[string]any)
		before, wasMap := shared[name].(map[string]any)
		switch {
		case shared[name] != nil && isOne(value, shared[name]):
			own[name] = value
		case isMap && wasMap:
			own[name] = copyExcept(after, before)
		default:
			own[name] = runtime.DeepCopyJSONValue(value)
		}
	}
	return own
}

// isOne reports whether two maps or lists are the same one.
func isOne(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	return x.Kind() == y.Kind() && (x.Kind() == reflect.Map || x.Kind() == reflect.Slice) && x.Pointer() == y.Pointer() && x.Len() == y.Len()
}
