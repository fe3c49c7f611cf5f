// Package expression has the CEL expressions in admission configuration, with the types
// that each may return. The code that validates a configuration and the code that evaluates
// it compile the same expressions.
package expression
