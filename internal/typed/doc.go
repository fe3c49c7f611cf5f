// Package typed reads and changes Go objects of Kubernetes as the JSON that they are
// encoded to, most of the time without the text.
//
// A write of a Deployment asks several times what its JSON says: who owns which field goes
// by the JSON, and so do patches. To encode the object and to parse the text again takes
// longer than the rest of the write. The functions here look at the Go values in place:
//
//   - [Tree] is the JSON of an object as a tree of maps and lists.
//   - [Differ] has of two objects only what differs. Most of an object stays as it is, and
//     nothing is allocated for that.
//   - [Assign] writes into an object what has changed between two trees.
//   - [Settle] makes of an object what reading its JSON would give. For example, a time
//     loses its nanoseconds, and an empty list that JSON leaves out becomes nil.
//   - [Merge] merges a JSON merge patch into an object.
//   - [Share] has an object use the memory of another where both are the same.
//   - [Decode] and [Encode] read and print the text itself, in one pass and without the
//     steps that the general libraries need to find out what a type looks like.
//
// What a type's JSON looks like is worked out once in a process: the names of its fields,
// which of them are left out when empty, which types encode themselves. Tests hold the
// functions to encoding/json, sigs.k8s.io/json, runtime.DefaultUnstructuredConverter and the
// library for JSON patches, with random objects and with random mistakes in them.
//
// Trees have the values that unstructured objects have: map[string]any, []any, string,
// int64, float64, bool, nil.
//
// Invariants: [Tree], [Differ] and [Encode] do not alter what they are given, not even what is lazy in
// it, such as the text of a Quantity, because objects may be shared. A type whose JSON
// cannot be told from its fields alone brings an error, and the caller takes the way
// through the text, or to the general library.
package typed
