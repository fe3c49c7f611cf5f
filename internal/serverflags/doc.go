// Package serverflags reads the command line of kube-apiserver.
//
// [Table] has all flags of the release. There are three kinds:
//
//   - applied: the flag does what it does on a real server.
//   - accepted: the flag has no effect, because it is about something that a cluster in memory does not have, such as
//     etcd, caches, limits and logs.
//   - refused: the flag changes what clients see, and fakecluster does not implement it. Only
//     its default value is accepted.
//
// So no flag is ignored if a test could notice it. An unknown flag gives the error of a real server.
//
// [Parse] returns the flags. [NewConfig] also reads the files that they name, in a fixed order, and checks flags and
// files as a real server does. It returns a [Config]: options of the packages server, authentication, authorization,
// builtin, audittrail and rest, and a [Serving] for the listener of the cluster.
//
// Certificates and authorities are read again when their files change: a certificate at each TLS
// handshake, an authority at each request.
package serverflags
