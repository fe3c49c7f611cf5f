// Package ginkgo is a suite of Ginkgo with a cluster for all specs, a fork for each, and a bubble beside them. See docs/ginkgo.md.
package ginkgo
