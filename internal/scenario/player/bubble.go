package player

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// Bubble returns how to call a function in a bubble. If something is left in the bubble that
// waits forever, that is an error, and does not end the process.
func Bubble(t *testing.T) func(func()) error {
	return func(f func()) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("the bubble did not end well; does the controller leave goroutines behind? %v", r)
			}
		}()
		synctest.Test(t, func(*testing.T) { f() })
		return nil
	}
}
