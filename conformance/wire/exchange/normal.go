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
	contains string // what a text has that the pattern matches, so that the others are not searched
	pattern  *regexp.Regexp
	instead  string
}{
	{"T", regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{"resourceVersion", regexp.MustCompile(`(\\*"resourceVersion\\*": ?\\*")\d+`), "${1}RV"},
	{" ", regexp.MustCompile(`(current: |in record \(|ResourceVersion in object meta: )\d+`), "${1}RV"},
	{"too old resource version", regexp.MustCompile(`(too old resource version: \d+ \()\d+`), "${1}RV"},
	{"not decodable", regexp.MustCompile(`(object not decodable revision=)\d+`), "${1}RV"},
	{`"a-`, regexp.MustCompile(`"(a-)[a-z0-9]{5}`), `"${1}XXXXX`},
	{`\"a-`, regexp.MustCompile(`\\"a-[a-z0-9]{5}`), `\"a-XXXXX`},
	{"resourceVersion: ", regexp.MustCompile(`resourceVersion: "\d+"`), `resourceVersion: RV`},
	{`"continue":"`, regexp.MustCompile(`"continue":"[^"]+"`), `"continue":"CONTINUE"`},
	{`"cells":`, regexp.MustCompile(`"-?\d+(ms|s|m|h|d)(\d+[smh])?"`), `"AGE"`},
	{"10.0.0.", regexp.MustCompile(`10\.0\.0\.\d+`), "CLUSTERIP"},
	{`"nodePort":`, regexp.MustCompile(`"nodePort":\d+`), `"nodePort":PORT`},
	{"remainingItemCount", regexp.MustCompile(`"remainingItemCount":\d+`), `"remainingItemCount":N`},
	{`":"`, regexp.MustCompile(`"(caBundle|token)":"[^"]+"`), `"$1":"…"`},
	{".", regexp.MustCompile(`\d+\.\d+\.\d+\.\d+:\d{5}\b`), "ADDRESS"},
	{"X509SHA256=", regexp.MustCompile(`X509SHA256=[0-9a-f]{64}`), "X509SHA256=…"},
	{"0", regexp.MustCompile(`(nodePort\\*"?: ?|10000:)\d{5}`), "${1}PORT"},
	{"typed patch", regexp.MustCompile(`(failed to create typed patch object \([^)]*\)): [^"]*not declared in schema`), "$1: …"}, // in any order, and not all
}

// normal returns what has to be equal.
func normal(text []byte) []byte {
	text = withoutUIDs(text)
	for _, d := range different {
		if bytes.Contains(text, []byte(d.contains)) {
			text = d.pattern.ReplaceAll(text, []byte(d.instead))
		}
	}
	return text
}

// withoutUIDs replaces what has the form of a uid, such as 81f0a1b2-0c1d-4e2f-8a3b-4c5d6e7f8a9b. It is most of what is replaced, and a regular expression would
// take ten times as long.
func withoutUIDs(text []byte) []byte {
	const form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	var kept []byte
	begin := 0
	for i := len("xxxxxxxx"); i < len(text); i++ {
		if text[i] != '-' || i-8 < begin || !hasForm(text[i-8:], form) {
			continue
		}
		kept = append(append(kept, text[begin:i-8]...), "UID"...)
		begin = i - 8 + len(form)
		i = begin
	}
	if begin == 0 {
		return text
	}
	return append(kept, text[begin:]...)
}

// hasForm reports whether a text begins as a form does, in which x is a hexadecimal digit.
func hasForm(text []byte, form string) bool {
	if len(text) < len(form) {
		return false
	}
	for i, c := range []byte(form) {
		digit := text[i] >= '0' && text[i] <= '9' || text[i] >= 'a' && text[i] <= 'f'
		if c == 'x' && !digit || c != 'x' && text[i] != c {
			return false
		}
	}
	return true
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

// Text returns an answer as it is compared: the status, the headers, an empty line and the body, a line for each value. What differs between
// any two runs of one server is masked. Unordered says that the server may name several mistakes in any order.
func Text(code int, header http.Header, body []byte, unordered bool) string {
	return answer{code: code, header: header, body: body}.text(unordered)
}

// Difference returns a unified diff of two such texts; empty: they are alike.
func Difference(a, b string) (string, error) { return difference(a, b) }

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
	var text bytes.Buffer
	values := json.NewDecoder(bytes.NewReader(body))
	for i := 0; ; i++ {
		var value json.RawMessage
		switch err := values.Decode(&value); {
		case err == io.EOF && i > 0:
			return text.Bytes()
		case err != nil:
			return body
		}
		if i > 0 {
			text.WriteByte('\n')
		}
		if json.Indent(&text, value, "", " ") != nil {
			return body
		}
	}
}
