// Package serverflags reads the command line of kube-apiserver.
//
// A [Table] says what fakecluster does with each flag of the release. There are three
// kinds:
//
//   - applied: the flag does what it does on a real server.
//   - accepted: the flag is about something that a cluster in memory does not have, such as etcd,
//     caches, limits and logs. It has no effect.
//   - refused: the flag changes what clients see, and fakecluster does not have it. Its default
//     value on a real server is accepted; any other value is an error that says what is missing.
//
// So no flag is ignored if a test could notice that. A flag that is not in the table is an error in
// the words of a real server.
//
// [Parse] returns the flags. [NewConfig] also reads the files that they name, in a fixed order, and checks
// flags and files as a real server does. The result is a [Config]: options of the packages server,
// authentication, authorization, builtin, audittrail and rest, and a [Serving] for the listener of the cluster.
//
// Certificates and authorities are read again when their files change: a certificate at each TLS
// handshake, an authority at each request.
package serverflags
