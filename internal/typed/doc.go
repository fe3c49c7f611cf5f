// Package typed reads and changes Go objects of Kubernetes as the JSON that they are
// encoded to, most of the time without the text.
//
// A write of a Deployment needs the JSON of the object several times: field ownership is
// about the JSON, and so are patches. Encoding the object and parsing the text again would
// take longer than the rest of the write. The functions here look at the Go values instead:
//
//   - [Tree] returns the JSON of an object as a tree of maps and lists.
//   - [Differ] returns the trees of what differs between two objects. It allocates nothing
//     for what is the same, which is most of an object.
//   - [Assign] writes into an object what has changed between two trees.
//   - [Settle] changes an object to what decoding its JSON would give. For example, a time
//     loses its nanoseconds, and an empty list that JSON leaves out becomes nil.
//   - [Merge] merges a JSON merge patch into an object.
//   - [Like] returns an object that uses the memory of another where both are the same.
//   - [Decode] and [Encode] read and print the text itself, in one pass, and without
//     finding out each time what a type looks like.
//
// The plan of a type is made once in a process. It has the names of the fields, which of
// them are left out when empty, and which types encode themselves. Tests compare the
// functions with encoding/json, sigs.k8s.io/json, runtime.DefaultUnstructuredConverter and
// the library for JSON patches, with random objects and random mistakes in them.
//
// Trees have the same values as unstructured objects: map[string]any, []any, string, int64,
// float64, bool, nil.
//
// Invariants: [Tree], [Differ] and [Encode] do not alter their input, not even values that are
// computed lazily, such as the text of a Quantity, because objects may be shared. For a type whose
// JSON does not follow from its fields there is an error, and the caller uses the text or the general
// library.
package typed
