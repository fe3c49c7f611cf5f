// Package suiteinbubble is a suite of Ginkgo that runs in a bubble: whatever its specs wait for takes no time. See docs/ginkgo.md.
package suiteinbubble
