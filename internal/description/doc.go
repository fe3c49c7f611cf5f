// Package description has the one description of a cluster, as data. Package fakecluster has it as options,
// the command serve as flags, the host as JSON, and a scenario file under "cluster:".
//
// An option is a field of [Cluster] with its names and its documentation, and a line of [Cluster.Options],
// which turns it into an option of package fakecluster. The flags of serve, the JSON and the OpenAPI document
// of the host, and the fields and the schema of scenario files are made from that field. Module remote, which
// imports nothing, has a function for each option, and a test compares the names.
package description
