// Package generate makes valid custom resources and changes of them from the schema of their definition and
// from a sample, and reads and writes the steps of a trial as text.
//
// [Changes] returns the changes of single properties, in an order that depends on the schema and the object
// alone. It does not evaluate CEL rules, patterns or webhooks: a change that the API server rejects is no
// trial, so the server decides. The values are chosen to be accepted by most servers and operators: a field
// whose name ends with image gets an image, one that looks like a duration gets a duration.
//
// All functions are safe for concurrent use, and none changes its arguments.
package generate
