// Package fields is the engine of metadata.managedFields and server-side apply: it computes which manager owns which
// field of an object.
//
// [Engine.Update] compares a live object with the new one in one walk over the compiled schema, and makes the manager of
// the request the owner of the fields that differ. [Engine.Apply] merges a configuration into a live object, removes
// fields that its manager applied before and no longer applies, and fails if it would change fields of other managers.
// For example, a user has applied
//
//	spec: {replicas: 1, image: a}
//
// so the user's entry is {"f:spec":{"f:replicas":{},"f:image":{}}}. An autoscaler that updates replicas to 3 takes the
// field over: its entry is {"f:spec":{"f:replicas":{}}}, and the user's is {"f:spec":{"f:image":{}}}. If the user then
// applies {replicas: 1, image: b}, the apply fails: conflict with "autoscaler" over .spec.replicas. With force the user
// owns both fields again. If the user applies {image: b} instead, replicas stays 3.
//
// Results and messages equal those of k8s.io/apimachinery/pkg/util/managedfields on top of
// sigs.k8s.io/structured-merge-diff; [TestDifferential] compares them. In rare and complicated cases the engine
// declines, and the caller must use upstream's code; Result.Declined has the reason. It declines
//
//   - what upstream rejects: a value of another type than in the schema, a field that is not in the schema, a
//     configuration with duplicate items;
//   - objects with duplicate items in a set or a map-like list;
//   - applies by a manager that has applied before, to an object with owners in several
//     versions;
//   - applies that migrate an object from kubectl's client-side apply;
//   - managedFields of a client that upstream might reject.
//
// Objects are JSON trees: map[string]any, []any, string, int64, float64, bool, nil. For objects with Go types, the
// caller makes trees only of what differs: see [Engine.UpdateViews] and resource.TypedFields. [ParseList] and
// [Managed.List] read and write their owners.
//
// Invariants: the engine does not alter its arguments, and its results share unchanged values with them. A [Managed], a
// [Tree] and a [Set] are immutable. An [Engine] is safe for concurrent use without locks.
package fields
