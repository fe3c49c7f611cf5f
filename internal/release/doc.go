// Package release has the Kubernetes version of the process: that of the libraries, or an older minor version, and its
// feature gates, as with --feature-gates. With an older version, the process is either a server of that version, or the
// newest kube-apiserver with --emulated-version, which has the newest fields, messages and version number.
// --min-compatibility-version applies to both.
//
// Upstream's feature gates are global, and upstream's packages read them while they are initialized. So the version and
// the gates come from environment variables at the start of the process, and cannot change afterwards.
//
// # Older releases
//
// An older version differs in more than its gates, which are all that emulation changes. The published OpenAPI document
// of the older release defines its types. One file for each version has the differences from the newest version; "go run
// ./older" in the module conformance writes the files.
//
// A later field is one that the older release does not have. A request with one is answered as one with an unknown
// field, and no object has one.
package release
