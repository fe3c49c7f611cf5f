// Package openapi answers /openapi/v3, which is an index and one document for each group and
// version, and /openapi/v2, which is one document for everything.
//
// A document is built when the first client asks for it. When the catalogue changes, documents
// of groups and versions that are unchanged are used again, so that a new definition does not
// make the server build all of them. Documents are immutable once built; building one takes no
// lock but that of its sync.Once.
package openapi
