package server

import (
	"testing"

	"github.com/fakecluster/fakecluster/internal/testing/compare"
)

func TestAMessageIsLoggedOnceOrEachTime(t *testing.T) {
	m := newMessages()
	var first, second []string
	m.To(func(message string) { first = append(first, message) })
	m.Once("a\x1b[31m")
	m.Once("a\x1b[31m")
	m.Each("b")
	m.Each("b")
	compare.Equal(t, "the messages", first, []string{`a\u001b[31m`, "b", "b"})

	m.To(nil)
	m.Once("c")
	m.Each("d")
	m.To(func(message string) { second = append(second, message) })
	m.Once("a\x1b[31m")
	m.Once("c") // nobody has got it
	compare.Equal(t, "the messages of the first function", len(first), 3)
	compare.Equal(t, "those of the second one", second, []string{"c"})
}
