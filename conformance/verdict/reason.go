package verdict

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// reasonLength is how many characters of a reason a list keeps.
const reasonLength = 160

// changing matches what differs between the messages of two runs.
var changing = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`(127\.0\.0\.1|localhost|\[::1\]):\d+`), "$1:<port>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( [+-]\d{4} \w+)?(Z|[+-]\d\d:\d\d)?`), "<time>"},
	{regexp.MustCompile(`0x[0-9a-f]{6,}`), "<pointer>"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|µs)\b`), "<duration>"},
	{regexp.MustCompile(`selfType\d+`), "selfType<n>"},
}

// Reason makes the line of a list from a message: its first line that is not blank,
// shortened, without what differs between runs.
func Reason(message string) string {
	first := ""
	for line := range strings.Lines(message) {
		if first = strings.TrimSpace(line); first != "" {
			break
		}
	}
	for _, c := range changing {
		first = c.pattern.ReplaceAllString(first, c.mask)
	}
	if utf8.RuneCountInString(first) > reasonLength {
		first = string([]rune(first)[:reasonLength-1]) + "…"
	}
	return first
}
