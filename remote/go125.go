//go:build go1.25

package remote

import (
	"testing"
	"testing/synctest"
)

// hasBubbles reports whether package testing/synctest of this Go makes bubbles in which clusters work.
const hasBubbles = true

// inBubble calls a function in a bubble of its own.
func inBubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }
