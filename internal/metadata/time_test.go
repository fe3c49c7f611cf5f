package metadata

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestIsTime(t *testing.T) {
	for _, tt := range []struct {
		rule, text string
		want       bool
	}{
		{"a time in UTC", "2020-01-02T03:04:05Z", true},
		{"the last second of a year", "2020-12-31T23:59:59Z", true},
		{"the last day of a short month", "2021-04-30T00:00:00Z", true},
		{"the last day of each February", "2020-02-28T00:00:00Z", true},
		{"a day that only some years have is declined", "2020-02-29T00:00:00Z", false},
		{"a day that the month does not have", "2020-06-31T00:00:00Z", false},
		{"the day 0", "2020-06-00T00:00:00Z", false},
		{"the month 0", "2020-00-01T00:00:00Z", false},
		{"the month 13", "2020-13-01T00:00:00Z", false},
		{"24 o'clock", "2020-01-02T24:00:00Z", false},
		{"the minute 60", "2020-01-02T00:60:00Z", false},
		{"a leap second", "2020-12-31T23:59:60Z", false},
		{"the zero time is declined", "0001-01-01T00:00:00Z", false},
		{"another zone", "2020-01-02T03:04:05+01:00", false},
		{"fractions of a second", "2020-01-02T03:04:05.1Z", false},
		{"a small t", "2020-01-02t03:04:05Z", false},
		{"a sign in the place of a digit", "2020-01-02T03:04:-5Z", false},
		{"no text", "", false},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if got := IsTime(tt.text); got != tt.want {
				t.Errorf("IsTime(%q) is %v", tt.text, got)
			}
			if !tt.want {
				return
			}
			// What it accepts is written as it was read.
			var read metav1.Time
			if err := json.Unmarshal([]byte(`"`+tt.text+`"`), &read); err != nil {
				t.Fatal(err)
			}
			if written, err := json.Marshal(read); err != nil || string(written) != `"`+tt.text+`"` {
				t.Errorf("%s is written as %s (%v)", tt.text, written, err)
			}
		})
	}
}

// TestIsTimeAcceptsEachDay compares IsTime with time.Parse for the days of a leap year and of
// one that is none.
func TestIsTimeAcceptsEachDay(t *testing.T) {
	for _, year := range []string{"2023", "2024"} {
		for month := range 14 {
			for day := range 33 {
				two := func(n int) string { return string([]byte{byte('0' + n/10), byte('0' + n%10)}) }
				text := year + "-" + two(month) + "-" + two(day) + "T01:02:03Z"
				_, err := time.Parse(time.RFC3339, text)
				want := err == nil && (month != 2 || day != 29)
				if got := IsTime(text); got != want {
					t.Errorf("IsTime(%q) is %v", text, got)
				}
			}
		}
	}
}
