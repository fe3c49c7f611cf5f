// Package inspect has the types with which a cluster reports what happened in it, and why.
//
//   - [Request] is one request: who sent it, what it was for, and what the answer was. The cluster
//     keeps the newest 10,000.
//   - [History] is the states of one object, each a [Revision] with the request that made it and
//     the fields that it changed ([FieldChange]).
//   - [Stats] counts all requests by client, verb and resource.
//   - [Explanation] follows one write through its stages: authorization, pruning and defaulting,
//     field conflicts, each plugin, policy and webhook, the checks of the schema and its CEL rules,
//     and the fields that changed.
//   - [Findings] are possible reasons why a test failed.
//   - [AccessRequest] is a request of a user as RBAC sees it.
//
// Package fakecluster returns them: Cluster.Requests, Cluster.History, Cluster.Stats,
// Cluster.Explain and Cluster.Access. The types are plain data. They need no cluster, can be
// compared, and print themselves as text for the log of a test.
package inspect
