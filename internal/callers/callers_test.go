package callers

import "testing"

// A loop is one cause, wherever it is at the moment.
func TestTheEntryOfAStackIsThatOfTheOperator(t *testing.T) {
	const rest = `example.com/op.(*Reconciler).poll(0xc000, {0x1, 0x2})
	/src/op/poll.go:12 +0x1
example.com/op.(*Reconciler).Reconcile(0xc000, {0x1, 0x2}, {{0x3, 0x4}})
	/src/op/reconcile.go:30 +0x2
sigs.k8s.io/controller-runtime/pkg/internal/controller.(*Controller[...]).Reconcile(0xc000)
	/mod/controller.go:222 +0x3
created by sigs.k8s.io/controller-runtime/pkg/internal/controller.(*Controller[...]).Start in goroutine 1 (x)
	/mod/controller.go:333 +0x4
`
	for name, stack := range map[string]string{
		"in the operator":         "goroutine 7 [runnable, synctest bubble 30]:\n" + rest,
		"in the standard library": "goroutine 7 [running, synctest bubble 30]:\nsync/atomic.(*Bool).Load(...)\n\t/go/type.go:19\n" + rest,
	} {
		if got, want := EntryOfStack(stack), "example.com/op.(*Reconciler).Reconcile"; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := EntryOfStack("goroutine 7 [chan receive (durable), synctest bubble 30]:\nruntime.gopark(0x1)\n\t/go/proc.go:1\n"); got != "" {
		t.Errorf("of a library alone: %q", got)
	}
}
