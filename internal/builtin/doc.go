// Package builtin turns the kinds that Kubernetes ships into Resources.
package builtin
