// Package schematest compares the walks of package schema with upstream's libraries:
// pruning, nulls, defaults, validation, list types and embedded resources. A walk need not
// find every fact, but a fact that it finds must hold by upstream, and what it makes
// of an object must be what upstream makes of it.
//
// The package makes random schemas and objects. A test of a real schema compares random
// objects of that schema.
package schematest
