// Package aggregation lets other API servers serve versions of the API, as kube-aggregator
// does.
//
// An APIService that points to a Service says which one. Requests below /apis/GROUP/VERSION go
// there, with the name of the user in headers. The documents of discovery and OpenAPI are those
// of all servers, merged.
//
// A real server asks the other servers from time to time whether they answer, and for their
// documents. Here nothing happens in the background:
//
//   - [Registry.Judge] asks a server when its APIService, or the Service or EndpointSlices that
//     this refers to, have been written, before the answer of that write leaves. A request for a
//     server that has not answered then asks again.
//   - The documents are fetched when a client wants them.
//
// A [Registry] has an immutable snapshot of the APIServices that point to a Service, and swaps
// it atomically after each write to one. A request sees one snapshot from start to end. In a
// cluster without such APIServices a request costs one look at an empty map.
//
// # Locks
//
// A Registry has a mutex for the names of the servers that are being asked. It is not held
// while they are asked. There is no other lock.
package aggregation
