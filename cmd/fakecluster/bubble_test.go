package main

import (
	"context"
	"strings"
	"testing"
)

// A bubble that ends by deadlock is an error for the host, which goes on.
func TestABubbleThatEndsByDeadlock(t *testing.T) {
	inBubble := bubbles(withBubbles(context.Background(), t))
	if err := inBubble(func() { <-make(chan struct{}) }); err == nil || !strings.HasPrefix(err.Error(), "the bubble ended with a panic: deadlock: ") {
		t.Errorf("%v", err)
	}
	if err := inBubble(func() {}); err != nil {
		t.Error(err)
	}
	if bubbles(context.Background()) != nil {
		t.Error("bubbles without a test")
	}
}
