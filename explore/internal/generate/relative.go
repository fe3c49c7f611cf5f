package generate

import (
	"fmt"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// quantityName and durationName match the names of fields whose text is a quantity or a duration.
var (
	quantityName = regexp.MustCompile(`(?i)(size|storage|memory|cpu|capacity)$`)
	durationName = regexp.MustCompile(`(?i)(duration|interval|timeout|period|delay|ttl)$`)
)

// quantitiesLike returns twice a quantity, its half, and the same in another unit.
func quantitiesLike(like any) (found []any) {
	text, ok := like.(string)
	if n, whole := like.(int64); whole {
		text, ok = fmt.Sprint(n), true
	}
	q, err := resource.ParseQuantity(text)
	if !ok || err != nil || q.Sign() <= 0 {
		return nil
	}
	twice := q.DeepCopy()
	twice.Add(q)
	found = append(found, twice.String())
	if n, whole := q.AsInt64(); whole && n%2 == 0 {
		found = append(found, resource.NewQuantity(n/2, q.Format).String())
	} else if m := q.MilliValue(); m%2 == 0 {
		found = append(found, resource.NewMilliQuantity(m/2, q.Format).String())
	}
	for _, other := range []string{fmt.Sprintf("%dMi", q.Value()>>20), fmt.Sprintf("%dKi", q.Value()>>10), fmt.Sprintf("%dm", q.MilliValue()), fmt.Sprint(q.AsApproximateFloat64())} {
		if other != text && state.SameInOtherUnit(text, other) {
			return append(found, other)
		}
	}
	return found
}

// durationsLike returns twice a duration, its half, and the same in another unit.
func durationsLike(like any) (found []any) {
	text, ok := like.(string)
	d, err := time.ParseDuration(text)
	if !ok || err != nil || d < time.Millisecond || d >= time.Duration(1)<<61 {
		return nil
	}
	found = append(found, (2 * d).String(), (d / 2).String())
	for _, other := range []string{fmt.Sprintf("%ds", d/time.Second), fmt.Sprintf("%dms", d/time.Millisecond)} {
		if other != text && state.SameInOtherUnit(text, other) {
			return append(found, other)
		}
	}
	return found
}
