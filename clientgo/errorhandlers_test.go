package clientgo

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// An error outside of bubbles does not delay one in a bubble, nor does a later error in the same bubble.
func TestAnErrorInABubbleTakesNoTime(t *testing.T) {
	utilruntime.HandleError(errors.New("outside"))
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			utilruntime.HandleError(errors.New("inside"))
			utilruntime.HandleError(errors.New("again"))
			if passed := time.Since(began); passed != 0 {
				t.Errorf("%v have passed", passed)
			}
		})
	}
}
