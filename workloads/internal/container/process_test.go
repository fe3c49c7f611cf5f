package container

import (
	"errors"
	"fmt"
	"testing"
)

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int32
	}{
		{nil, 0}, {errors.New("cannot connect"), 1}, {Exit(0), 0}, {Exit(3), 3}, {Exit(255), 255}, {Exit(256), 0}, {Exit(-1), 255},
		{fmt.Errorf("the migration: %w", Exit(4)), 4}, {errors.Join(Exit(5), nil), 5}, {errPanic, 2},
	} {
		if got := codeOf(test.err); got != test.want {
			t.Errorf("%v: exit code %d, want %d", test.err, got, test.want)
		}
	}
}
