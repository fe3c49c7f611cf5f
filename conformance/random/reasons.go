package main

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// wrongDirective is what a real server says of a strategic merge patch that cannot be read: it looks at the fields in the order of a map.
const wrongDirective = `(unknown patch type: |cannot convert (bool|float64|int64) to string|invalid patch format of |unrecognized type: |list element types are not identical|expected a \[\]interface \{\}, but received |does not contain declared merge key|cannot merge lists without merge key for )`

// wrongDefault is what a real server says of an embedded resource in a default of a definition.
const wrongDefault = `\.default[^ ]*\.(apiVersion|kind|metadata): Invalid value: `

// wrongBase64 is the error of a value that is not base64, up to the number of the byte.
const wrongBase64 = `error decoding from json: illegal base64 data at input byte `

// reasons explain differences that stay, by what a difference looks like.
var reasons = []struct {
	pattern *regexp.Regexp // of the signature, an empty line, and the difference
	text    string
}{
	{regexp.MustCompile(`strategic-merge-patch[\s\S]*\n-.*` + wrongDirective + `[\s\S]*\n\+.*` + wrongDirective), "which of two wrong directives of a patch is named is chance"},
	{regexp.MustCompile(`\n- "message": "admission webhook \\"(re)?validating\.example\.com\\"[\s\S]*\n\+ "message": "admission webhook \\"(re)?validating\.example\.com\\"`), "which of two webhooks that refuse is named is chance: a real server calls them at once"},
	{regexp.MustCompile(`\n-.*` + wrongDefault + `[\s\S]*\n\+.*` + wrongDefault), "which mistake of an embedded resource in a default is named is chance: a real server looks at its fields in the order of a map"},
	{regexp.MustCompile(`\n-.*` + wrongBase64 + `\d+"[\s\S]*\n\+.*` + wrongBase64 + `\d+"`), "which of two values that are not base64 is named is chance: a real server reads them in the order of a map"},
	{regexp.MustCompile(`"kind": "CertificateSigningRequest"[\s\S]*\n-  "status": \{\}`), "an empty certificate is another text than none in protobuf, so that a real server writes it"},
	{regexp.MustCompile(`\n-.*too old resource version: `), "which events the watch cache of a real server still has is chance; it compacts nothing here"},
	{regexp.MustCompile(`\n-the stream was reset`), "a real server panics, and ends the connection"},
}

// deniedByPolicy finds, in both answers, the policy and the binding that refuse an object.
var deniedByPolicy = regexp.MustCompile(`\n-.*((?:ValidatingAdmissionPolicy|policy) '[^']*' with binding '[^']*') denied request: [\s\S]*\n\+.*((?:ValidatingAdmissionPolicy|policy) '[^']*' with binding '[^']*') denied request: `)

// wrongVolume finds a field of a volume that both answers name, with another number.
var wrongVolume = regexp.MustCompile(`\n-.*spec\.template\.spec\.volumes\[\d+\][\s\S]*\n\+.*spec\.template\.spec\.volumes\[\d+\]`)

// selectsParameters is a binding to all parameters with some labels.
var selectsParameters = regexp.MustCompile(`"paramRef":\{[^{}]*"selector":`)

// reason returns why the answers differ; empty: it is not known.
func reason(d *play.Difference) string {
	text := d.Signature() + "\n\n" + d.Diff
	for _, r := range reasons {
		if r.pattern.MatchString(text) {
			return r.text
		}
	}
	if found := deniedByPolicy.FindStringSubmatch(d.Diff); found != nil && found[1] == found[2] && slices.ContainsFunc(d.Before, func(s play.Step) bool { return selectsParameters.MatchString(s.Body) }) {
		return "which of a policy's parameters is the first that refuses is chance: a real server lists them from a map"
	}
	switch {
	case strings.Contains(d.Step.Path, "/statefulsets") && wrongVolume.MatchString(d.Diff):
		return "which number a volume of a claim template has is chance: a real server adds them from a map"
	case takesListedVersion(d.Step) && d.Step.Method == http.MethodDelete && strings.Contains(d.Diff, " does not match the ResourceVersion in record "):
		return "the resource version of a list is that of an object or a later one, by chance: other histories write at the same time"
	case takesListedVersion(d.Step) && d.Step.Method == http.MethodGet && followsWrite(d):
		return "a read from the watch cache of a real server may miss the last write, by chance"
	}
	return ""
}

// takesListedVersion reports whether a step has the resource version of a list, and does not ask for exactly that one.
func takesListedVersion(s play.Step) bool {
	_, query, _ := strings.Cut(s.Path, "?")
	values, _ := url.ParseQuery(query)
	return values.Get("resourceVersion") == "${listed}" && values.Get("resourceVersionMatch") != "Exact"
}

// followsWrite reports whether a list comes right after a write, and both servers answer it with objects.
func followsWrite(d *play.Difference) bool {
	if len(d.Before) == 0 || strings.Contains(d.Diff, `"reason": `) || strings.Contains(d.Step.Path, "watch=") {
		return false
	}
	before := d.Before[len(d.Before)-1].Method
	return before != http.MethodGet && before != play.Reviews
}
