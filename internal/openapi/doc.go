// Package openapi answers /openapi/v3, which is an index and one document for each group and
// version and each other path, and /openapi/v2, which is one document for everything.
//
// The kinds that have Go types are described as a real API server does it: upstream's installer
// (k8s.io/apiserver/pkg/endpoints) registers the paths of each version, upstream's builder reads
// them. In place of the kinds' storage the installer gets stand-ins: they have the methods of the
// verbs that the kind has, and they are never called. Custom resources bring documents of their own.
//
// A document is built when the first client requests it. The process keeps the documents of Go
// types, because they are the same in all clusters. When the registry of kinds changes, the documents
// of groups and versions that are unchanged are used again, so that a new definition does not
// make the server build all of them. Documents are immutable once built; building one takes no
// lock but that of its sync.Once.
package openapi
