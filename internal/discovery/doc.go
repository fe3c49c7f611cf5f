// Package discovery answers /api, /apis and /version: it tells clients which groups, versions
// and resources are served. It makes each document from the catalogue when a client asks for
// it, so that a new definition is there at once. It keeps no state and has no locks.
package discovery
