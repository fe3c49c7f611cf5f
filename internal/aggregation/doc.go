// Package aggregation forwards versions of the API to other API servers, as kube-aggregator does.
//
// An APIService with a Service registers such a server. Requests below /apis/GROUP/VERSION are forwarded to it, with the
// user in headers. The discovery and OpenAPI documents of all servers are merged.
//
// A real server checks from time to time whether the other servers answer, and fetches their
// documents. Here nothing happens in the background:
//
//   - [Registry.CheckAvailable] sends a request to a server within each write to its APIService, Service or
//     EndpointSlices. If the server has not answered, a later request for it repeats the check (see [NewProxy]).
//   - The documents are fetched when a client requests them.
//
// A [Registry] has an immutable snapshot of the APIServices with a Service, and swaps it atomically after each write to
// one. A request uses one snapshot from start to end. In a cluster without such APIServices a request costs one lookup
// in an empty map.
//
// One version can be forwarded without an APIService: see [Registry.StandIn].
//
// # Locks
//
// A Proxy has a mutex for the names of the servers that are being checked. It is not held during a check. There is no
// other lock.
package aggregation
