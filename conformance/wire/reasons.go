package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/fakecluster/fakecluster/conformance/verdict"
	"github.com/fakecluster/fakecluster/conformance/wire/exchange"
)

// reasons say why fakecluster as an older version answers in another way than the old server. The first whose pattern matches the request,
// or a line that differs, counts.
var reasons = []struct {
	reason           string
	request, differs *regexp.Regexp
}{
	{"by chance", regexp.MustCompile(`componentstatuses: list as yaml|selfsubjectrulesreviews|customresourcedefinitions: (get what waits|no finalizer|patch out|delete in the foreground)|` +
		`(flowschemas|apiservices): (apply|patch) status|get .*as=yaml|GET .*as=yaml|sendInitialEvents`), nil},
	{"by chance", nil, regexp.MustCompile(`"reason": "RBAC: allowed by`)},
	{"compacted after five minutes", nil, regexp.MustCompile(`^-.*(The resourceVersion for the provided list is too old|"reason": "Expired")`)},
	{"the build", nil, regexp.MustCompile(`"gitCommit"`)},
	{"description", nil, regexp.MustCompile(`"description": ?"|"columnDefinitions"|^[-+].*description:|/openapi/v3/\S+\?hash=`)},
	{"description", regexp.MustCompile(`/openapi/v[23]`), nil},
	{"a later health check", nil, regexp.MustCompile(`loopback-serving-certificate|/(healthz|livez|readyz)/|^\+\[\+\]`)},
	{"rules of controllers", regexp.MustCompile(`clusterrole`), regexp.MustCompile(`"rules"|"verbs"|"apiGroups"|"resources"|verbs:|resources:|^-    "?-? ?"?"$`)},
	{"a patch is read first", nil, regexp.MustCompile(`^\+.*"message": "invalid JSON patch"`)},
	{"words of a bad patch", nil, regexp.MustCompile(`error (strict )?decoding (YAML|patch)|error encoding patch|invalid JSON patch`)},
	{"a printed object has later fields", nil, regexp.MustCompile(`pod updates may not change fields|is invalid: patch: Invalid value`)},
	{"words of a precondition", nil, regexp.MustCompile(`[Pp]recondition failed: `)},
	{"words of later validation", nil, regexp.MustCompile(`^\+.*(Invalid value|Required value|Unsupported value|Forbidden|Too (long|many|may)|is invalid|Checked value)`)},
	{"a later warning", nil, regexp.MustCompile(`^[-+]Warning: `)},
	{"a mistake is named once", nil, regexp.MustCompile(`^-.*("field": |Duplicate value|Invalid value|Required value|"reason": "FieldValue)`)},
	{"metadata is not managed through status", regexp.MustCompile(`servicecidrs|customresourcedefinitions|resourceclaims|changes of a custom object`), regexp.MustCompile(`f:(metadata|labels)`)},
	{"words of a kind that is not registered", nil, regexp.MustCompile(`no kind .*is registered for `)},
	{"a bad request, not an internal error", nil, regexp.MustCompile(`^-500$`)},
	{"a patch takes the kind", regexp.MustCompile(`patches that take the kind of `), nil},
	{"null devices", regexp.MustCompile(`resourceslices: `), nil},
	{"managed fields that are wrong", regexp.MustCompile(`"managedFields":\[`), regexp.MustCompile(`managedFields`)},
	{"objects that cannot be read", regexp.MustCompile(`the life of a definition`), regexp.MustCompile(`invalid group/version|corrupt object|StorageError|Terminating|InstanceDeletion`)},
	{"a Service without endpoints", regexp.MustCompile(`services: (get missing )?proxy`), nil},
	{"by chance", regexp.MustCompile(`horizontalpodautoscalers: list`), nil}, // while the same objects are there in the other version
}

// unknownReason is the reason of what no pattern matches.
const unknownReason = "?"

// reasonOf returns why answers differ.
func reasonOf(c exchange.Comparison) string {
	lines := exchange.Differing(c.Differences[0])
	for _, r := range reasons {
		if (r.request == nil || r.request.MatchString(c.Request.String())) && (r.differs == nil || slices.ContainsFunc(lines, r.differs.MatchString)) {
			return r.reason
		}
	}
	return unknownReason
}

// olderReason returns the text of the list for a request that fakecluster as an older version answers in another way: how the emulating
// server answers it, why, and the first line that differs.
func olderReason(c exchange.Comparison) string {
	is := "both"
	switch c.Differences[1] {
	case c.Differences[0]:
		is = "emulated"
	case "":
		is = "alone"
	}
	return verdict.Reason(fmt.Sprintf("%s, %s: %s", is, reasonOf(c), exchange.First(c.Differences[0])))
}

// countReasons prints how many requests are answered in another way for each reason, and how many as by the emulating server.
func countReasons(w io.Writer, compared []exchange.Comparison) {
	counts, same := map[string]int{}, 0
	for _, c := range compared {
		if c.Differences[0] == c.Differences[1] {
			same++
		}
		if c.Differences[0] != "" {
			counts[reasonOf(c)]++
		}
	}
	fmt.Fprintf(w, "%d requests are answered as by the emulating server\n", same)
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return counts[b] - counts[a] })
	for _, name := range names {
		fmt.Fprintf(w, "%6d %s\n", counts[name], name)
	}
}
