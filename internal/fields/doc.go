// Package fields is the engine behind metadata.managedFields and server-side apply: it
// computes which manager owns which field of an object.
//
// Two functions compute the outcome of a write. [Engine.Update] compares a live object with
// the new one in one walk, guided by the compiled schema, and makes the manager of the
// request the owner of what differs. [Engine.Apply] merges a configuration into a live
// object, removes what its manager applied before and no longer applies, and refuses to
// change what others own. For example, a user has applied
//
//	spec: {replicas: 1, image: a}
//
// so the user's entry is {"f:spec":{"f:replicas":{},"f:image":{}}}. An autoscaler that
// updates replicas to 3 takes the field over: its entry is {"f:spec":{"f:replicas":{}}},
// and the user's is {"f:spec":{"f:image":{}}}. If the user then applies {replicas: 1,
// image: b}, the apply is refused: conflict with "autoscaler" over .spec.replicas. With
// force the user owns both fields again. If the user applies {image: b} instead, replicas
// stays 3.
//
// The behaviour is that of k8s.io/apimachinery/pkg/util/managedfields on top of
// sigs.k8s.io/structured-merge-diff, to the byte and to the letter of its messages.
// [TestDifferential] holds the engine to them. In rare and complicated cases the engine
// declines, and the caller has to use upstream's code; Result.Declined has the reason. It
// declines
//
//   - what upstream refuses: a value of another type than the schema has, a field that
//     the schema does not have, a configuration in which items repeat;
//   - objects in which the items of a set or of a map-like list repeat;
//   - applies by a manager that has applied before, to an object with owners in several
//     versions;
//   - applies that migrate an object from kubectl's client-side apply;
//   - managedFields set by hand that upstream might refuse.
//
// Objects are JSON trees: map[string]any, []any, string, int64, float64, bool, nil. For
// objects with Go types, the caller makes trees of what differs only: see
// [Engine.UpdateViews] and resource.TypedFields. Their owners are read with
// [ParseList] and written as [Managed.List].
//
// Invariants: the engine does not alter the objects that it is given, and its results share
// with them what has not changed. A [Managed], a [Tree] and a [Set] are immutable. An
// [Engine] is safe for concurrent use without locks.
package fields
