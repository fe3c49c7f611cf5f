// Package workloads makes a cluster live: Kubernetes' own controllers and scheduler run in it.
package workloads
