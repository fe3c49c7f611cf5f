package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/fakecluster/fakecluster/conformance/verdict"
	"github.com/fakecluster/fakecluster/conformance/wire/exchange"
)

// olderComment heads the lists of older versions, and explains each reason.
const olderComment = `The requests that fakecluster as an older version answers in another way than the real kube-apiserver of this version.
"go run ./wire -older VERSION" writes this with -update. "emulated" means that the newest real kube-apiserver, which emulates the version,
answers as fakecluster does, "both" that it answers in a third way, and "alone" that it answers as the old server. Then the reason and the first line that
differs follow: "-" is the old server, "+" fakecluster. The reasons:
by chance: a real server of one version differs from itself, too; so do lists of a kind whose two versions are tried at the same time.
compacted after five minutes: a real server drops old revisions by the clock.
the build: a module has no commit and no date.
description: of columns of Tables and of fields in OpenAPI, which stay those of 1.37, and the hashes of OpenAPI documents.
a later health check: /healthz and /livez have more parts.
rules of controllers: four roles of Kubernetes' own controllers were changed.
a patch is read first: 1.37 rejects a patch that is not JSON before it looks for the object.
words of a bad patch; words of a precondition; words of later validation: only the message or the field of an error differs, or 1.37
stops at the first of several errors of a field.
a printed object has later fields: the message of an error contains the object as Go prints it, or its managed fields.
a mistake is named once: the old server validates metadata, labels and names twice and lists such errors twice.
metadata is not managed through status: 1.37 does not record labels and annotations that are written to the status of definitions, custom
objects and ServiceCIDRs.
managed fields that are wrong: 1.37 starts anew where the old server keeps no managed fields.
objects that cannot be read: of a definition without the version that they are stored in, 1.37 answers reads with an error of the storage.
a later warning: 1.37 warns of more, or in other words.
a Service without endpoints: 1.37 answers requests through the proxy to a missing Service with 503, not 404.
words of a kind that is not registered: the message names the scheme in another way.
a bad request, not an internal error: 1.34 answers 500 where 1.37 has another status, above all to a bad body of a DELETE.
a patch takes the kind: a patch removes the kind, or the whole object, and 1.34 answers in another way.
null devices: 1.34 writes the devices of a ResourceSlice also if there are none.`

// reason is why responses differ.
type reason struct {
	reason           string
	request, differs *regexp.Regexp // nil: any
}

// reasons say why fakecluster as an older version answers in another way than the old server. The first counts whose patterns match the
// request and a line that differs.
var reasons = []reason{
	{"by chance", regexp.MustCompile(`componentstatuses: list as yaml|selfsubjectrulesreviews|customresourcedefinitions: (get what waits|no finalizer|patch out|delete in the foreground)|` +
		`(flowschemas|apiservices): (apply|patch) status|flowschemas: (patch out|delete in the foreground)|users: GET /apis user=jane|(get|list) as yaml|get .*as=yaml|GET .*as=yaml|sendInitialEvents`), nil},
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
	whose := "both"
	switch c.Differences[1] {
	case c.Differences[0]:
		whose = "emulated"
	case "":
		whose = "alone"
	}
	return verdict.Reason(fmt.Sprintf("%s, %s: %s", whose, reasonOf(c), exchange.First(c.Differences[0])))
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
