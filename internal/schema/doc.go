// Package schema compiles the schema of a kind into one tree. All code that depends on the structure of an object walks
// this tree: pruning, nulls and defaults, fast acceptance, list types, embedded resources and the ownership of fields.
//
// One walk normalizes an object: it drops unknown fields and forbidden nulls, and fills in the defaults. The same walk
// finds the facts that later stages of a write need. The facts go with the object, those of its status apart from the
// others. For example, an update of a Certificate walks the new object once when it is decoded. It takes the status from
// the stored object, with the facts of that status. Validation then looks at the facts, and only the metadata is walked
// again. After a merge patch, the object shares untouched parts with the stored one, and only the other parts are
// walked.
//
// Invariants: a tree is immutable once it is compiled, and safe for concurrent use. Normalizing gives exactly upstream's
// result. A fact means that upstream's library would not find an error. A missing fact means nothing: then the library
// is called, and its errors are returned. A differential test checks every walk.
package schema
