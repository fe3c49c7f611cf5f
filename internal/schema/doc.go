// Package schema compiles the schema of a kind into one tree, which everything walks
// that has to know an object's structure: pruning, nulls and defaults, fast acceptance,
// list types, embedded resources and the ownership of fields.
//
// One walk over an object both settles it (drops the fields that the schema does not
// know and the nulls that may not be, and fills in the defaults) and finds out the facts
// that later stages of a write ask for. They go along with the object, those of its status
// and those of the rest apart. For example, an update of a Certificate walks the new
// object once when it is decoded. The update takes the status from the stored object, with
// what is known of it; validation then looks at the facts, and only the metadata is walked
// again. A merge patch makes an object that shares with the stored one what the patch does
// not touch, and only what it touches is walked.
//
// Invariants: a tree is immutable once it is compiled, and safe for concurrent use.
// Settling gives exactly upstream's result. A fact says that upstream's library would
// find nothing to complain about; a missing fact says nothing, and then the library is
// asked, which also knows the words. One differential test harness holds every walk to
// that.
package schema
