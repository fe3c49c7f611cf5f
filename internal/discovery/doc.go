// Package discovery tells clients what is served: /api, /apis, /version. The
// documents are made from the catalogue when they are asked for.
package discovery
