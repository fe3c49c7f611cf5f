//go:build !go1.25

package remote

import "testing"

// hasBubbles reports whether package testing/synctest of this Go makes bubbles in which clusters work.
const hasBubbles = false

func inBubble(*testing.T, func(*testing.T)) {}
