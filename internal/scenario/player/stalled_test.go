package player

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// A controller that listens on a socket stops the time of its bubble. The message has the stack of the goroutine.
func TestAControllerThatListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := syntax.Parse("f.yaml", []byte("scenario: s\nsteps:\n- advance: 1h\n")).Scenarios[0]
	with := Player{Bubble: Bubble(t), Controller: func(ctx context.Context, _ *rest.Config) error {
		listener.Accept()
		<-ctx.Done()
		return nil
	}}
	said := ""
	result := PlaySupervised(with, time.Millisecond, func(stack string) {
		said = StallMessage(s, stack)
		listener.Close()
	}, func(with Player) Result { return with.Play(t.Context(), s, nil) })
	if result.Failure != nil {
		t.Error(result.Failure)
	}
	for _, part := range []string{"f.yaml:1: s: time in the bubble does not advance", "[IO wait", "net.(*TCPListener).Accept", "TestAControllerThatListens"} {
		if !strings.Contains(said, part) {
			t.Errorf("it does not say %q: %s", part, said)
		}
	}
}

// What keeps the time of a bubble from passing, in the words of Go's stacks.
func TestTheGoroutineThatBlocksABubbleIsFound(t *testing.T) {
	const (
		socket  = "goroutine 7 [IO wait, 2 minutes, synctest bubble 3]:\nnet.(*TCPListener).Accept()"
		other   = "goroutine 8 [IO wait, synctest bubble 33]:\nnet.(*TCPListener).Accept()"
		outside = "goroutine 9 [IO wait]:\nnet.(*TCPListener).Accept()"
		durable = "goroutine 10 [select (durable), synctest bubble 3]:\nmain.main()"
		runs    = "goroutine 11 [runnable, locked to thread, synctest bubble 3]:\nmain.main()"
		locked  = "goroutine 13 [sync.Mutex.Lock, synctest bubble 3]:\nsync.(*Mutex).Lock()"
		assists = "goroutine 14 [GC assist wait, synctest bubble 3]:\nmain.main()"
		writes  = "goroutine 12 [syscall, synctest bubble 3]:\nsyscall.Write()"
	)
	for _, test := range []struct {
		rule, goroutine string
		stacks          []string
	}{
		{"a socket does", "7", []string{other, outside, durable, socket}},
		{"also if it began just now", "7", []string{strings.Replace(socket, ", 2 minutes", "", 1)}},
		{"time passes in a moment if another goroutine runs", "", []string{socket, runs}},
		{"or writes to the log", "", []string{socket, writes}},
		{"or helps the garbage collector", "", []string{socket, assists}},
		{"or waits for a lock, which somebody gives back", "", []string{socket, locked}},
		{"what waits for the bubble does not", "", []string{durable, other, outside}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			if got := blockedOutside(strings.Join(test.stacks, "\n\n"), "3"); got.goroutine != test.goroutine {
				t.Errorf("goroutine %q waits, want %q", got.goroutine, test.goroutine)
			} else if test.goroutine != "" && !strings.HasPrefix(got.stack, "goroutine 7 [IO wait, synctest bubble 3]:\n") {
				t.Errorf("it waits at %s", got.stack)
			}
		})
	}
}
