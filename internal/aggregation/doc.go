// Package aggregation lets other API servers serve versions of the API, as kube-aggregator
// does.
//
// An APIService that points to a Service names it. Requests below /apis/GROUP/VERSION go
// there, with the name of the user in headers. The documents of discovery and OpenAPI are those
// of all servers, merged.
//
// A real server checks from time to time whether the other servers answer, and fetches their
// documents. Here nothing happens in the background:
//
//   - [Registry.CheckAvailable] sends a request to a server when its APIService, or the Service or EndpointSlices that
//     this refers to, have been written, before the answer of that write leaves. A request for a
//     server that has not answered then repeats it.
//   - The documents are fetched when a client requests them.
//
// A [Registry] has an immutable snapshot of the APIServices that point to a Service, and swaps
// it atomically after each write to one. A request sees one snapshot from start to end. In a
// cluster without such APIServices a request costs one look at an empty map.
//
// One version can be served without an APIService: see [Registry.StandIn].
//
// # Locks
//
// A Registry has a mutex for the names of the servers that are being checked. It is not held
// while they are checked. There is no other lock.
package aggregation
