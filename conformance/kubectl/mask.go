package kubectl

import (
	"regexp"
	"strings"
)

// masks hide what differs from run to run, and from server to server.
var masks = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	// A watch that a program ends at its own deadline may be in the middle of a read: then client-go says so.
	{regexp.MustCompile(`(?m)^[IWE]\d{4} .* reflector\.go:\d+\] "?(Warning: watch ended with error|Failed to watch).*context (canceled|deadline exceeded).*\n`), ""},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| [+-]\d{4})`), "<time>"},
	{regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}`), "<time>"},
	{regexp.MustCompile(`[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+0000`), "<time>"},
	// Addresses and ports that a service is given, in columns with their padding.
	{regexp.MustCompile(`10\.0\.0\.\d+( {3}) *`), "10.0.0.<n>$1"},
	{regexp.MustCompile(`10\.0\.0\.\d+\b`), "10.0.0.<n>"},
	{regexp.MustCompile(`\b3\d{4}(/TCP)`), "<port>$1"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:<port>"},
	{regexp.MustCompile(`(Handling connection for )\d+`), "$1<port>"},
	{regexp.MustCompile(`(resourceVersion: |"resourceVersion":\s?)"\d+"`), `$1"<n>"`},
	{regexp.MustCompile(`(Resource Version: +)\d+`), "$1<n>"},
	{regexp.MustCompile(`\S*/(LIVE|MERGED)-\d+/`), "<folder>/$1/"},
	{regexp.MustCompile(`\S*/kubectl-edit-\d+\.yaml`), "<folder>/kubectl-edit.yaml"},
	// What chainsaw says about its version, its own code, times and the folders of programs.
	{regexp.MustCompile(`(?m)^Version: (\(devel\)|v0\.0\.0-\S+)$`), "Version: <version>"},
	{regexp.MustCompile(`(?m)^( +)\w+\.go:\d+: \x08+`), "$1"},
	{regexp.MustCompile(`(?m)^( +\|) \d\d:\d\d:\d\d \|`), "$1 <clock> |"},
	{regexp.MustCompile(`(?m)^( *--- (?:PASS|FAIL): \S+) \(\d+\.\d\ds\)$`), "$1 (<duration>)"},
	{regexp.MustCompile(`(?m)^( +)\S+/(kubectl|sh) `), "$1<folder>/$2 "},
	// Ages in tables, in the last column and in others; the padding behind those
	// depends on the age.
	{regexp.MustCompile(`(?m)(\s)\d+m?\d*s$`), "$1<age>"},
	{regexp.MustCompile(`( {3})\d+m?\d*s {2,}`), "$1<age>   "},
}

// mask returns the lines of a text, masked, without white space at their ends.
func mask(text string) []string {
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.mask)
	}
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return trimBlank(lines)
}
