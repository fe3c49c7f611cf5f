// Package expression has the CEL expressions that admission configuration is made
// of: what each is called by the compiler, and which types it may have. Those who
// validate a configuration and those who carry it out compile the same.
package expression
