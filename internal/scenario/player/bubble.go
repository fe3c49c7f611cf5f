package player

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// Bubble returns a function that calls another one in a bubble. If a goroutine in the bubble waits forever, that is
// an error; it does not end the process.
func Bubble(t *testing.T) func(func()) error {
	return func(f func()) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("the bubble did not end, perhaps because the controller left goroutines behind: %v", r)
			}
		}()
		synctest.Test(t, func(*testing.T) { f() })
		return nil
	}
}
