// Package builtin serves Kubernetes' own kinds by Kubernetes' own code: it turns the strategies, conversions,
// defaults, printers and schemas that k8s.io/kubernetes publishes as libraries into values of package resource.
//
// The served kinds are listed in tables, with one file for each group or for a few that belong
// together (core.go, apps.go, …): names, versions, subresources, and upstream's strategy of the kind.
// A table does not repeat what upstream's code says. Tests compare the tables with the answers of a
// real server: testdata has its discovery and its Table columns.
//
// Invariants:
//
//   - Objects of a kind are of upstream's internal type wherever a strategy sees them. They are converted when they are
//     decoded and encoded.
//   - A kind is stored once, in the version that a real server of this release stores it in, whatever versions and
//     groups it is served in. Events are served in two groups.
//   - Nothing here belongs to a cluster. All clusters share schemas and printers, which take long to make. They are
//     made when they are first needed, once in a process, and never change after that.
//   - Importing the package changes the whole process, as importing k8s.io/kubernetes does. Its
//     pkg/features adds about 250 feature gates to k8s.io/apiserver's default gates and makes
//     client-go's features follow those, so that environment variables such as
//     KUBE_FEATURE_WatchListClient no longer have an effect. Containers may be privileged
//     (pkg/capabilities, which the first caller in a process sets), and evictions try again without a
//     pause. This package reads legacyscheme.Scheme, and never changes it.
//   - Upstream's storages of kinds do more than strategies say: they give a Service its addresses,
//     bind and evict Pods, issue tokens. Such code works on the objects of the cluster in the context
//     (storages.go). What a Service has claimed is in the store: an address is an IPAddress object,
//     and node ports are those of the stored Services, looked up once and then kept up to date. So a
//     fork begins with what its store has.
//   - If a real server has a subresource that this one cannot serve, discovery lists it, and requests get an error that
//     says what is missing.
package builtin
