// Package openapi serves /openapi/v3, an index and one document for each group version and each other path, and
// /openapi/v2, one document for everything.
//
// The kinds that have Go types are described as a real API server does it: upstream's installer
// (k8s.io/apiserver/pkg/endpoints) registers the paths of each version, and upstream's builder reads them. In place of
// the kinds' storage the installer gets placeholders, which have the methods of the kind's verbs and are never called.
// Custom resources have documents of their own.
//
// A document is built when the first client requests it. The process keeps the documents of Go types, because they are
// the same in all clusters. When the registry of kinds changes, the documents of unchanged groups and versions are used
// again, so a new definition does not make the server build all of them. Documents are immutable once built; building
// one takes only the lock of its sync.Once.
package openapi
