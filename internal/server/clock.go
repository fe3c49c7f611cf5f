package server

import (
	"errors"
	"fmt"
	"time"
)

// CheckTime returns an error if objects cannot have the time: RFC 3339 requires a year of four digits, and the zero time
// means that no time is set.
func CheckTime(now time.Time) error {
	now = now.UTC()
	if year := now.Year(); year < 0 || year > 9999 {
		return fmt.Errorf("%s is outside of the years 0 to 9999, which the times of objects have to be in", now.Format(time.RFC3339))
	}
	if now.Truncate(time.Second).IsZero() {
		return errors.New("the zero time.Time cannot be the time of objects: it means that no time is set")
	}
	return nil
}
