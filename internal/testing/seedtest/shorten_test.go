package seedtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// needs fails if all of some steps are in a history.
func needs(some ...int) func([]int) error {
	return func(steps []int) error {
		for _, one := range some {
			if !slices.Contains(steps, one) {
				return nil
			}
		}
		return fmt.Errorf("failed with %d steps", len(steps))
	}
}

func upTo(n int) (steps []int) {
	for i := range n {
		steps = append(steps, i)
	}
	return steps
}

func TestTheShortestHistoryHasWhatTheFailureTakes(t *testing.T) {
	for _, some := range [][]int{{}, {0}, {49}, {7, 8}, {3, 25, 48}} {
		got, err := Shorten(upTo(50), errors.New("failed"), needs(some...))
		if !slices.Equal(got, some) || err.Error() != fmt.Sprintf("failed with %d steps", len(some)) {
			t.Errorf("%v, %v; want %v", got, err, some)
		}
	}
	played := 0
	if got, _ := Shorten(upTo(5000), errors.New("failed"), func(steps []int) error { played++; return needs(upTo(2500)...)(steps) }); played > plays || len(got) < 2500 {
		t.Errorf("%d steps, after %d plays", len(got), played)
	}
}

func TestAFailedHistoryIsPrinted(t *testing.T) {
	Play(t, upTo(9), needs(9)) // it is not among them
	err := Attempt(t, func(t testing.TB) { Play(t, upTo(9), needs(2, 6)) })
	if want := "failed with 2 steps\nthe shortest history that fails, 2 of 9 steps:\n  2\n  6"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestAnAttemptKeepsItsFailuresToItself(t *testing.T) {
	err := Attempt(t, func(t testing.TB) {
		t.Log("a log")
		t.Error("one", 1)
		t.Fatalf("two %d", 2)
		t.Error("never")
	})
	if err == nil || strings.ReplaceAll(err.Error(), "\n", "; ") != "one 1; two 2" {
		t.Error(err)
	}
	if err := Attempt(t, func(t testing.TB) { t.FailNow() }); err == nil {
		t.Error("FailNow does not fail")
	}
	if err := Attempt(t, func(testing.TB) {}); err != nil || t.Failed() {
		t.Error(err)
	}
}
