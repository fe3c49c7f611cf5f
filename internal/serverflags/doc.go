// Package serverflags reads the command line of kube-apiserver.
//
// A [Table] says of each flag of the release what fakecluster does with it. There are three
// kinds:
//
//   - applied: the flag does what it does on a real server.
//   - accepted: it is about what a cluster in memory does without, such as etcd, caches, limits and
//     logs. It has no effect.
//   - refused: it changes what clients see, and fakecluster does not have it. The value that a
//     real server has without the flag is accepted. Any other is an error that says what is missing.
//
// So a flag is never ignored that a test could notice. A flag that is not in the table is an error
// in the words of a real server. The package knows no cluster: [Parse] tells what was said, and the
// front door makes a cluster of that.
package serverflags
