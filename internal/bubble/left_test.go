package bubble

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

func TestWhatIsLeftInABubbleIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if mistake, _ := Left(); mistake != "" {
			t.Errorf("nothing is left: %s", mistake)
		}
		// A decoder that never decodes stands for a connection.
		decoder := blocked{make(chan struct{})}
		w := apiwatch.NewStreamWatcher(decoder, nil)
		defer w.Stop()
		stop := Watch(nil, func(Blocked) {})
		if mistake, _ := Left(); mistake != "" {
			t.Errorf("another cluster is there: %s", mistake)
		}
		stop()
		mistake, stack := Left()
		if mistake != "a watch is never stopped: write defer w.Stop()" || !strings.Contains(stack, "left_test.go") {
			t.Errorf("%s: %s", mistake, stack)
		}
	})
}

// blocked is a decoder that waits until it is closed.
type blocked struct{ closed chan struct{} }

func (b blocked) Decode() (apiwatch.EventType, runtime.Object, error) {
	<-b.closed
	return "", nil, io.EOF
}

func (b blocked) Close() { close(b.closed) }
