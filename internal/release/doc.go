// Package release says which Kubernetes the process is: the release of the libraries, or an older minor version, with other feature
// gates, as with --feature-gates. The process is either a server of that older version, or the newest kube-apiserver with
// --emulated-version, which has the newest fields, messages and version number. --min-compatibility-version applies to both.
//
// Upstream's feature gates belong to the process, and upstream's packages read them while they are initialized. So the
// version and the gates are those of environment variables at the start of the process, and cannot change afterwards.
//
// # Older releases
//
// A server of an older version lacks more than its gates: emulation leaves the rest as in the newest version. The published OpenAPI document
// of the older release has a definition of each type. A file for each version has how they differ from those of the newest one;
// "go run ./older" in the module conformance writes the files.
//
// A field that the older release does not have is a later field. Requests that have one get what the release says to a field that it
// does not know, and no object has one.
package release
