// Package older corrects what emulation leaves as in the newest version of Kubernetes, if the process is a server of an older one. The
// published OpenAPI document of the older release has a definition of each type. A file for each version has how they
// differ from those of the newest one; "go run ./older" in the module conformance writes the files.
//
// A field that the older release does not have is a later field. Requests that have one get what the release says to a field that it
// does not know, and no object has one.
package older
