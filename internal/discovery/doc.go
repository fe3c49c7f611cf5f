// Package discovery serves /api, /apis and /version: the documents that list the groups, versions
// and resources of the server. It makes each document from the registry of kinds for each request, so
// that a new definition is listed at once. It does not keep state or use locks.
package discovery
