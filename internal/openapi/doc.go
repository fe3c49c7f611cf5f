// Package openapi publishes what is served as OpenAPI: /openapi/v3, its index and
// one document for each group and version, and /openapi/v2.
//
// Nothing is built before it is asked for, and what a version was built into
// serves every catalogue that has the version unchanged.
package openapi
