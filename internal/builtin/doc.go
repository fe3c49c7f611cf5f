// Package builtin serves Kubernetes' own kinds by Kubernetes' own code: it turns the strategies, conversions,
// defaults, printers and schemas that k8s.io/kubernetes publishes as libraries into values of package resource.
//
// What is served stands in tables, one file for each group or for a few that belong together (core.go, apps.go, …):
// names, versions, subresources, and the strategy that upstream wrote for the kind. A table says nothing that upstream
// says already. Tests compare the tables with what a real server answered: its discovery and its Table columns lie in
// testdata.
//
// Invariants:
//
//   - Objects of a kind are of upstream's internal type wherever a strategy sees them. They are converted when they are
//     decoded and encoded.
//   - A kind is stored once, in the version that a real server of this release stores it in, whatever versions and
//     groups it is seen through. Events are seen through two groups.
//   - Nothing here belongs to a cluster. What is costly (schemas, printers) is made when it is first needed, once in
//     a process, and never changes after that.
//   - Importing the package changes what a process shares, as importing k8s.io/kubernetes does: its pkg/features puts
//     about 250 feature gates into k8s.io/apiserver's default gates, and has client-go's features go by those, so that
//     environment variables such as KUBE_FEATURE_WatchListClient no longer have an effect in that process. Containers
//     may be privileged (pkg/capabilities, which the first caller in a process sets). legacyscheme.Scheme is read, and
//     never changed.
//   - A subresource that a real server has and this one does not serve is listed, and refused in words that say what is
//     missing.
package builtin
