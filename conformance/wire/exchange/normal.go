package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// different finds what differs between any two runs of one server.
//
// Kubernetes' own test of stored objects, of which the objects of Requests are, has a Service with the port 10000
// that gets a node port, which Tables show as 10000:PORT. The name of an object with the prefix "a-"
// ends in five characters of chance.
var different = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`(\\*"resourceVersion\\*": ?\\*")\d+`), "${1}RV"},
	{regexp.MustCompile(`(current: |in record \(|ResourceVersion in object meta: )\d+`), "${1}RV"},
	{regexp.MustCompile(`(too old resource version: \d+ \()\d+`), "${1}RV"},
	{regexp.MustCompile(`(object not decodable revision=)\d+`), "${1}RV"},
	{regexp.MustCompile(`"(a-)[a-z0-9]{5}`), `"${1}XXXXX`},
	{regexp.MustCompile(`\\"a-[a-z0-9]{5}`), `\"a-XXXXX`},
	{regexp.MustCompile(`resourceVersion: "\d+"`), `resourceVersion: RV`},
	{regexp.MustCompile(`"continue":"[^"]+"`), `"continue":"CONTINUE"`},
	{regexp.MustCompile(`"-?\d+(ms|s|m|h|d)(\d+[smh])?"`), `"AGE"`},
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

// unequal are headers that are not compared. Audit-Id is on every answer of a real server, and on those of
// fakecluster with an audit trail.
var unequal = []string{"Date", "Content-Length", "Audit-Id", "Last-Modified"}

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

// text is an answer as it is compared, a line for each value. The events of a watch follow each other.
func (a answer) text(unordered bool) string {
	body := a.body
	if strings.HasPrefix(a.header.Get("Content-Type"), "application/cbor") {
		body = readable(body)
	}
	body = sortOwners(normal(body))
	if bytes.Contains(body, []byte(`"etcd-0"`)) {
		body = sortArrays(sortArrays(body, `"items":`), `"rows":`) // component statuses, which a real server lists as they come
	}
	if unordered {
		body = sortMistakes(body)
	}
	return fmt.Sprintf("%d\n%s\n\n%s", a.code, headers(a.header), indented(body))
}

// indented returns JSON, or several of them, with a line for each value, and anything else as it is.
func indented(body []byte) []byte {
	var all bytes.Buffer
	values := json.NewDecoder(bytes.NewReader(body))
	for i := 0; ; i++ {
		var value json.RawMessage
		switch err := values.Decode(&value); {
		case err == io.EOF && i > 0:
			return all.Bytes()
		case err != nil:
			return body
		}
		if i > 0 {
			all.WriteByte('\n')
		}
		if json.Indent(&all, value, "", " ") != nil {
			return body
		}
	}
}
