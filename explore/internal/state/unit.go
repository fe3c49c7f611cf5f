package state

import (
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// hasUnit matches a number with a unit.
var hasUnit = regexp.MustCompile(`^[0-9.]+[A-Za-zµ]`)

// SameInOtherUnit reports whether two texts are the same quantity or the same duration, such as 1Gi and 1024Mi. One of them at least has a unit.
func SameInOtherUnit(a, b string) bool {
	if !hasUnit.MatchString(a) && !hasUnit.MatchString(b) {
		return false
	}
	p, err := resource.ParseQuantity(a)
	q, otherErr := resource.ParseQuantity(b)
	if err == nil && otherErr == nil && p.Cmp(q) == 0 {
		return true
	}
	d, err := time.ParseDuration(a)
	e, otherErr := time.ParseDuration(b)
	return err == nil && otherErr == nil && d == e
}
