//go:build go1.25

package remote

// hasBubbles reports whether package testing/synctest of this Go makes bubbles in which clusters work.
const hasBubbles = true
