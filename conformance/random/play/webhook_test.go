package play

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestCallsOfAnAttemptWithAStaleObjectAreLeftOut(t *testing.T) {
	review := func(name, operation string, version, value int) call {
		return call{name, fmt.Appendf(nil, `{"request":{"operation":%q,"object":{"value":%d},"oldObject":{"metadata":{"resourceVersion":"%d"}}}}`, operation, value, version)}
	}
	update := func(name string, version, value int) call { return review(name, "UPDATE", version, value) }
	for _, c := range []struct {
		name                string
		first, second, want []call
	}{
		{"all webhooks again",
			[]call{update("a", 1, 5), update("a", 2, 6), update("b", 1, 5), update("b", 2, 6)},
			[]call{update("a", 2, 6), update("b", 2, 6)},
			[]call{update("a", 2, 6), update("b", 2, 6)}},
		{"an attempt that a webhook refused",
			[]call{update("a", 1, 5), update("a", 2, 6), update("b", 2, 6)},
			[]call{update("a", 2, 6), update("b", 2, 6)},
			[]call{update("a", 2, 6), update("b", 2, 6)}},
		{"an apply that did not see the delete before it",
			[]call{update("a", 1, 5), review("a", "CREATE", 0, 5)},
			[]call{review("a", "CREATE", 0, 5)},
			[]call{review("a", "CREATE", 0, 5)}},
		{"two updates, each with such an attempt",
			[]call{update("a", 1, 5), update("a", 2, 6), update("a", 2, 7), update("a", 3, 8)},
			[]call{update("a", 2, 6), update("a", 3, 8)},
			[]call{update("a", 2, 6), update("a", 3, 8)}},
		{"two updates, the second with such an attempt",
			[]call{update("a", 2, 6), update("a", 2, 7), update("a", 3, 8)},
			[]call{update("a", 2, 6), update("a", 3, 8)},
			[]call{update("a", 2, 6), update("a", 3, 8)}},
		{"an attempt that called a webhook twice",
			[]call{update("a", 1, 5), update("a", 1, 6), update("a", 2, 7), update("a", 2, 8)},
			[]call{update("a", 2, 7), update("a", 2, 8)},
			[]call{update("a", 2, 7), update("a", 2, 8)}},
		{"an attempt, and a last call that differs",
			[]call{update("a", 1, 5), update("a", 2, 6)}, []call{update("a", 2, 9)},
			[]call{update("a", 2, 6)}},
		{"a call that the second server left out stays",
			[]call{update("a", 1, 5)}, nil, []call{update("a", 1, 5)}},
		{"a webhook that is invoked again has the same old object",
			[]call{update("a", 1, 5), update("a", 1, 6)}, []call{update("a", 1, 6)},
			[]call{update("a", 1, 5), update("a", 1, 6)}},
		{"an attempt that is made again with the same object",
			[]call{identified("1", update("a", 1, 5)), identified("2", update("a", 1, 5))}, []call{identified("3", update("a", 1, 5))},
			[]call{identified("2", update("a", 1, 5))}},
		{"more than one attempt too many",
			[]call{update("a", 1, 5), update("a", 2, 5), update("a", 3, 5)}, []call{update("a", 3, 5)},
			[]call{update("a", 1, 5), update("a", 2, 5), update("a", 3, 5)}},
		{"fewer calls",
			[]call{update("a", 1, 5)}, []call{update("a", 1, 5), update("a", 1, 6)}, []call{update("a", 1, 5)}},
	} {
		if got := withoutStale(c.first, c.second); !slices.EqualFunc(got, c.want, func(a, b call) bool { return a.name == b.name && string(a.body) == string(b.body) }) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, reviewed(got).body, reviewed(c.want).body)
		}
	}
}

// identified returns the call as one of a request with a uid.
func identified(uid string, c call) call {
	return call{c.name, []byte(strings.Replace(string(c.body), `{"request":{`, `{"request":{"uid":"`+uid+`",`, 1))}
}

func TestReviewsOfScalesAreComparedInAnyOrderOfFields(t *testing.T) {
	review := func(kind, object string) call {
		return call{"a", fmt.Appendf(nil, `{"request":{"kind":{"kind":%q},"object":%s}}`, kind, object)}
	}
	const typed, sorted = `{"kind":"Scale","apiVersion":"autoscaling/v1"}`, `{"apiVersion":"autoscaling/v1","kind":"Scale"}`
	for _, c := range []struct {
		name                string
		first, second, want call
	}{
		{"a Scale in another order", review("Scale", sorted), review("Scale", typed), review("Scale", typed)},
		{"another Scale", review("Scale", `{"apiVersion":"v2","kind":"Scale"}`), review("Scale", typed), review("Scale", `{"apiVersion":"v2","kind":"Scale"}`)},
		{"another kind", review("Widget", sorted), review("Widget", typed), review("Widget", sorted)},
	} {
		if got := withScales([]call{c.first}, []call{c.second}); len(got) != 1 || string(got[0].body) != string(c.want.body) {
			t.Errorf("%s: got %s, want %s", c.name, got[0].body, c.want.body)
		}
	}
}

func TestReviewsOfEventsOfTheServerItselfAreNotKept(t *testing.T) {
	for _, c := range []struct {
		user, resource string
		want           bool
	}{{"system:apiserver", "events", true}, {"system:apiserver", "services", false}, {"random", "events", false}} {
		body := fmt.Appendf(nil, `{"request":{"resource":{"version":"v1","resource":%q},"userInfo":{"username":%q}}}`, c.resource, c.user)
		if got := ownEvent(body); got != c.want {
			t.Errorf("%s of %s: got %t, want %t", c.resource, c.user, got, c.want)
		}
	}
}
