// Package serverconfig turns the command line of kube-apiserver into the configuration of a cluster.
//
// [New] reads the flags and the files that they name, in a fixed order, and checks them as a real server
// does. The result is a [Config]: options of package rest, and a [Serving] for the listener of the
// cluster. Package [github.com/fakecluster/fakecluster/internal/serverflags] parses the flags themselves and says
// what fakecluster does with each.
//
// Certificates and authorities are read again when their files change: a certificate at each TLS
// handshake, an authority at each request.
package serverconfig
