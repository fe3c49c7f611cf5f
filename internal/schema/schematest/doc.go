// Package schematest holds the walks of package schema to upstream's libraries: pruning,
// nulls, defaults, validation, list types and embedded resources. A walk may decline to
// tell a fact; what it tells has to be what upstream says, and what it makes of an object
// has to be what upstream makes of it.
//
// It brings random schemas and objects. A test of a real schema compares random objects
// of that one.
package schematest
