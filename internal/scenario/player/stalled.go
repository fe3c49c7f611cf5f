package player

import (
	"fmt"

	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// Supervised returns a player whose bubble is checked from outside, because code in a bubble cannot find out that its
// time stands still. stuck is called with a message if that happens.
func Supervised(with Player, s *syntax.Scenario, stuck func(message string)) Player {
	if with.Bubble == nil {
		return with
	}
	inBubble := with.Bubble
	with.Bubble = func(f func()) error {
		return inBubble(func() {
			defer bubble.Watch(nil, func(b bubble.Blocked) { stuck(stallMessage(s, b)) })()
			f()
		})
	}
	return with
}

// stallMessage is the message for a scenario whose time does not advance.
func stallMessage(s *syntax.Scenario, b bubble.Blocked) string {
	return fmt.Sprintf("%s: %s: %s. The goroutine that waits:\n\n%s\n", s.Position, s.Title(), b.Mistake(), b.Stack)
}
