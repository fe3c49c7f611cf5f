// Package builtin has Kubernetes' own kinds by Kubernetes' own code: it builds values of package resource from the
// strategies, conversions, defaults, printers and schemas of k8s.io/kubernetes.
//
// The served kinds are listed in tables, with one file for each group or for a few that belong together (core.go,
// apps.go, …): names, versions, subresources, and upstream's strategy of the kind. A table does not repeat what
// upstream's code contains. Tests compare the tables with the discovery and the Table columns of a real server in
// testdata.
//
// Invariants:
//
//   - Strategies get objects of upstream's internal type. Decoding and encoding convert them.
//   - A kind is stored once, in the storage version of a real server of this release, even if it is served in several
//     versions and groups. Events are served in two groups.
//   - Nothing here belongs to a cluster. All clusters share schemas and printers, which are slow to create. They are
//     created when they are first needed, once in a process, and are immutable.
//   - Importing the package changes the whole process, as importing k8s.io/kubernetes does. Its pkg/features adds about
//     250 feature gates to k8s.io/apiserver's default gates and makes client-go's features follow those, so that
//     environment variables such as KUBE_FEATURE_WatchListClient no longer have an effect. Containers may be privileged
//     (pkg/capabilities, which the first caller in a process sets), and evictions are retried without a pause. This
//     package never changes legacyscheme.Scheme.
//   - Upstream's storages of kinds do more than strategies: they allocate the addresses of a Service, bind and evict
//     Pods, issue tokens. This code uses the objects of the cluster in the context (storages.go). Allocations are in
//     the store: an address is an IPAddress object, and node ports are those of the stored Services, read once and then
//     kept up to date. So a fork starts with the allocations in its store.
//   - Discovery also lists subresources that this server cannot serve. Requests get an error with what is missing.
package builtin
