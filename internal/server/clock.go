package server

import (
	"errors"
	"fmt"
	"time"
)

// CheckTime returns an error if objects cannot have the time: its year does not have four digits,
// as RFC 3339 demands, or it is the zero time, which means that no time is set.
func CheckTime(now time.Time) error {
	now = now.UTC()
	if year := now.Year(); year < 0 || year > 9999 {
		return fmt.Errorf("%s is outside of the years 0 to 9999, which the times of objects have to be in", now.Format(time.RFC3339))
	}
	if now.Truncate(time.Second).IsZero() {
		return errors.New("the zero time.Time is not a time for objects: they would have none")
	}
	return nil
}
