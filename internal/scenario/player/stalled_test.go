package player

import (
	"context"
	"net"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/bubble"
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
	said := make(chan string, 1)
	with = Supervised(with, s, func(message string) {
		said <- message
		listener.Close()
	})
	checked := make(chan string)
	go func() {
		for {
			select {
			case message := <-said:
				checked <- message
				return
			default:
				bubble.Check() // in place of the timer of the process
			}
		}
	}()
	result := with.Play(t.Context(), s, nil)
	message := <-checked
	if result.Failure != nil {
		t.Error(result.Failure)
	}
	for _, part := range []string{"f.yaml:1: s: time in the synctest bubble stands still, because a server listens on a socket: start it before synctest.Test", "[IO wait", "net.(*TCPListener).Accept", "TestAControllerThatListens"} {
		if !strings.Contains(message, part) {
			t.Errorf("it does not contain %q: %s", part, message)
		}
	}
}
