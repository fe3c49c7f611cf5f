// Package schema compiles the schema of a kind into one tree, which everything walks
// that has to know an object's structure: pruning, defaulting, fast acceptance, list
// types and the ownership of fields.
//
// Invariants: a tree is immutable once it is compiled, and safe for concurrent use.
// A walk may decline to judge an object, and then upstream's libraries judge it; a walk
// never differs from them. One differential test harness holds every walk to that.
package schema
