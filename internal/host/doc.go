// Package host runs clusters of package fakecluster for clients in other processes, which use a control API of JSON over
// HTTP.
//
// The control API is one table, operations: each row has the method, the path, the types of the request and of the answer, and a
// function that calls the public API of package fakecluster. The OpenAPI document is generated from the table and these types.
//
// # Invariants
//
// A cluster belongs to a session. A session is one request that stays open: when its connection ends, for any reason,
// its clusters are closed. So a client that is killed leaves nothing behind.
//
// A request with an unknown field is rejected, and paths in requests are absolute, because the folder of the client is not that of
// the host.
//
// # Bubbles
//
// A cluster with virtual time lives in a testing/synctest bubble of this process, which ends with its connection. All requests about it
// come over this connection, as frames, and are served in the bubble: its channels and timers belong to it. Between two
// frames time stands still, so the cluster is never ahead of its client.
//
// # Explorations
//
// The engine of package explore works here, and the operator runs in the process of the client. A trial is a goroutine in a bubble of its own, whose time the
// client's bubble lets pass. What the engine waits for, it announces, so that the client's next frame comes on time. The operator is a call of a function that
// lasts, and its requests are exchanges with a cluster of its own, whose transport is that of the engine: so faults and crashes are as in process.
//
// # Locks
//
// The lock of a Host guards its sessions and clusters, that of a cluster its faults, its hold and its workloads. None is
// held while a method of package fakecluster runs, except the lock of a cluster while its workloads start. The lock of a
// driver guards the next frame, and is never held during a call.
package host
