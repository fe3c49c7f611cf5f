// Package fields is the engine behind metadata.managedFields and server-side apply: it
// knows who owns which field of an object.
//
// Two functions compute the outcome of a write. [Engine.Update] compares a live object with
// what a request made of it, in one walk guided by the compiled schema, and gives what
// differs to the manager of the request. [Engine.Apply] merges a configuration into a
// live object, takes out what its manager applied before and does not apply any more,
// and refuses what others own. For example, let a user have applied
//
//	spec: {replicas: 1, image: a}
//
// so that the user's entry is {"f:spec":{"f:replicas":{},"f:image":{}}}. An autoscaler
// that updates replicas to 3 takes the field over: its entry is
// {"f:spec":{"f:replicas":{}}}, the user's {"f:spec":{"f:image":{}}}. If the user then
// applies {replicas: 1, image: b}, the apply is refused: conflict with "autoscaler" over
// .spec.replicas. With force it has both fields again. If the user applies {image: b},
// replicas stays 3.
//
// The behaviour is that of k8s.io/apimachinery/pkg/util/managedfields on top of
// sigs.k8s.io/structured-merge-diff, to the byte and to the letter of its messages.
// [TestDifferential] holds the engine to them. Where it would get intricate, the engine
// declines, and upstream's code has to be asked; Result.Declined says why. It declines
//
//   - what upstream refuses: a value of another type than the schema says, a field that
//     the schema does not have, a configuration in which items repeat;
//   - objects in which the items of a set or of a map-like list repeat;
//   - applies by who has applied before, to an object with owners in several versions;
//   - what kubectl applied by itself and now hands over to server-side apply;
//   - managedFields set by hand that upstream would find fault with.
//
// Objects are JSON trees: map[string]any, []any, string, int64, float64, bool, nil. Objects
// with Go types are shown to it as trees of no more than what differs: see
// [Engine.UpdateViews], package typed and resource.TypedFields. Their owners are read with
// [ParseList] and written as [Managed.List].
//
// Invariants: objects that are given are not altered, and what comes out shares what did
// not change with them. A [Managed], a [Tree] and a [Set] are immutable. An [Engine] is
// safe for concurrent use, and takes no lock.
package fields
