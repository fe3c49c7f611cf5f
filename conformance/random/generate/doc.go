// Package generate makes random histories of requests: of the kinds that Kubernetes has, and of definitions that are random, too. A
// history is made while it is played (package play), because a step may depend on what the server has answered.
//
// Each file has one family of histories. What they have in common are schemas of objects (schema.go), values that are odd (values.go),
// changes at paths of a schema (change.go) and their forms as requests (body.go).
package generate
