package main

import (
	"regexp"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// reasons explain differences that stay, by what a difference looks like.
var reasons = []struct {
	pattern *regexp.Regexp // of the signature, an empty line, and the difference
	text    string
}{
	{regexp.MustCompile(`strategic-merge-patch[\s\S]*\n-.*expected a \[\]interface \{\}, but received [\s\S]*\n\+.*expected a \[\]interface \{\}, but received `), "which of two wrong directives of a patch is named is chance"},
	{regexp.MustCompile(`\n-the stream was reset`), "a real server panics, and ends the connection"},
}

// reason returns why the answers differ; empty: it is not known.
func reason(d *play.Difference) string {
	text := d.Signature() + "\n\n" + d.Diff
	for _, r := range reasons {
		if r.pattern.MatchString(text) {
			return r.text
		}
	}
	return ""
}
