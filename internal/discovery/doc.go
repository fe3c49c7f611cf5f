// Package discovery serves /api, /apis and /version: the documents that list the groups, versions and resources of the
// server. Documents are created from the registry of kinds for each request, so that a new definition is listed at once.
// The package has no state and no locks.
package discovery
