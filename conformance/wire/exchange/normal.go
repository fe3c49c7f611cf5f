package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

func edited(answer []byte, edit func(map[string]any)) ([]byte, error) {
	object := map[string]any{}
	if err := json.Unmarshal(answer, &object); err != nil {
		return nil, err
	}
	edit(object)
	return json.Marshal(object)
}

// different finds what differs between any two runs of one server.
var different = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`(\\*"resourceVersion\\*": ?\\*")\d+`), "${1}RV"},
	{regexp.MustCompile(`(current: |in record \(|ResourceVersion in object meta: )\d+`), "${1}RV"},
	{regexp.MustCompile(`"(a-)[a-z0-9]{5}`), `"${1}XXXXX`},
	{regexp.MustCompile(`\\"a-[a-z0-9]{5}`), `\"a-XXXXX`},
	{regexp.MustCompile(`resourceVersion: "\d+"`), `resourceVersion: RV`},
	{regexp.MustCompile(`"continue":"[^"]+"`), `"continue":"CONTINUE"`},
	{regexp.MustCompile(`"-?\d+(ms|s|m|h|d)"`), `"AGE"`},
	{regexp.MustCompile(`10\.0\.0\.\d+`), "CLUSTERIP"},
	{regexp.MustCompile(`"nodePort":\d+`), `"nodePort":PORT`},
	{regexp.MustCompile(`"remainingItemCount":\d+`), `"remainingItemCount":N`},
	{regexp.MustCompile(`"(caBundle|token)":"[^"]+"`), `"$1":"…"`},
	{regexp.MustCompile(`\d+\.\d+\.\d+\.\d+:\d{5}\b`), "ADDRESS"},
	{regexp.MustCompile(`X509SHA256=[0-9a-f]{64}`), "X509SHA256=…"},
	{regexp.MustCompile(`(nodePort\\*"?: ?|10000:)\d{5}`), "${1}PORT"},
	{regexp.MustCompile(`(failed to create typed patch object \([^)]*\)): [^"]*not declared in schema`), "$1: …"}, // in any order, and not all
}

// normal returns what has to be equal.
func normal(text []byte) []byte {
	for _, d := range different {
		text = d.pattern.ReplaceAll(text, []byte(d.instead))
	}
	return text
}

// unequal are headers that mean nothing here. Audit-Id and those of priority and fairness are on every
// answer of a real server; fakecluster has the first with an audit trail, and no queues.
var unequal = []string{"Date", "Content-Length", "Audit-Id", "Last-Modified", "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"}

func headers(h http.Header) string {
	var lines []string
	for name, values := range h {
		switch {
		case slices.Contains(unequal, name):
			continue
		case name == "Etag":
			values = []string{"…"}
		}
		lines = append(lines, name+": "+string(normal([]byte(strings.Join(values, ", ")))))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// text is an answer as it is compared, a line for each value.
func (a answer) text() string {
	body := normal(a.body)
	var indented bytes.Buffer
	if json.Indent(&indented, body, "", " ") == nil {
		body = indented.Bytes()
	}
	return fmt.Sprintf("%d\n%s\n\n%s", a.code, headers(a.header), body)
}
