package seeded

import (
	"testing"
	"time"
)

// TestASeedRepeatsDurations proves that a duration follows from the seed, the key and its name alone. Other values would change the runs of all seeds.
func TestASeedRepeatsDurations(t *testing.T) {
	for _, test := range []struct {
		durations       Durations
		what            string
		between, around time.Duration
	}{
		{Durations{1, "default/a"}, "start", 1890 * time.Millisecond, 1390105614},
		{Durations{1, "default/a"}, "stop", 1878 * time.Millisecond, 1378199064},
		{Durations{1, "default/b"}, "start", 1255 * time.Millisecond, 755877109},
		{Durations{2, "default/a"}, "start", 1261 * time.Millisecond, 761687871},
	} {
		between, around := test.durations.Between(test.what, time.Second, 2*time.Second), test.durations.Around(test.what, time.Second, 0.5)
		if between != test.between || around != test.around {
			t.Errorf("%+v %s: Between returns %d, want %d; Around returns %d, want %d", test.durations, test.what, between, test.between, around, test.around)
		}
	}
}

// TestDurationsFillTheirRange proves that the durations of many names lie in the range, and come near to both of its ends.
func TestDurationsFillTheirRange(t *testing.T) {
	const second = time.Second
	low, high, least, most := time.Hour, time.Duration(0), time.Hour, time.Duration(0)
	for i := range uint64(1000) {
		d := Durations{Seed: i, Key: "k"}
		between, around := d.Between("w", second, 2*second), d.Around("w", second, 0.1)
		if between%time.Millisecond != 0 {
			t.Errorf("%s is not in whole milliseconds", between)
		}
		low, high, least, most = min(low, between), max(high, between), min(least, around), max(most, around)
	}
	if low < second || low > 1010*time.Millisecond || high >= 2*second || high < 1990*time.Millisecond {
		t.Errorf("Between 1s and 2s returns durations from %s to %s", low, high)
	}
	if least < 900*time.Millisecond || least > 902*time.Millisecond || most > 1100*time.Millisecond || most < 1098*time.Millisecond {
		t.Errorf("Around 1s by a tenth returns durations from %s to %s", least, most)
	}
}

// TestADigestIsThatOfItsParts proves which text has the digest: the parts with spaces between them, and a line end.
func TestADigestIsThatOfItsParts(t *testing.T) {
	if got, want := Digest("default", "web", 1), "4d3ddb455b3d30771fada10c3887e8be80aed87927d5ed7e1945c8d7f9f3664e"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if Digest("a", "b") == Digest("ab") {
		t.Error("two parts have the digest of one")
	}
}
