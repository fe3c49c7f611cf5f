package play

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/conformance/wire/exchange"
)

// masks hide what differs between two runs of one server, beyond what package exchange hides.
var masks = []struct {
	contains string // what a text has that the pattern matches, so that the others are not searched
	pattern  *regexp.Regexp
	instead  string
}{
	// Five characters of chance end the name of an object with generateName.
	{"generated-", regexp.MustCompile(`\b(generated-)[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "${1}XXXXX"},
	{`"TIME`, regexp.MustCompile(`("TIME)[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "${1}XXXXX"}, // one that admission has begun with a time
	// A Service gets ports and addresses by chance.
	{"healthCheckNodePort", regexp.MustCompile(`(healthCheckNodePort\\*"?): ?\d+`), `$1: PORT`},
	{"duplicate nodePort: ", regexp.MustCompile(`(duplicate nodePort: \{\w+ )3\d{4}\}`), "${1}PORT}"},
	{"Duplicate value", regexp.MustCompile(`(nodePort: Duplicate value: )\d+`), `${1}PORT`},
	{`"field": "spec.ports[`, regexp.MustCompile(`("message": "Duplicate value: )3\d{4}(",\s*"field": "spec\.ports\[\d+\]\.nodePort")`), "${1}PORT$2"},
	{`ports\`, regexp.MustCompile(`(\\+"ports\\+":)3\d{4}\b`), "${1}PORT"}, // a patch has copied it there
	{"NodePort", regexp.MustCompile(`(\\"NodePort\\":)3\d{4}\b`), `${1}PORT`},
	// A precondition with something around the revision.
	{"in the precondition", regexp.MustCompile(`(ResourceVersion in the precondition \()[^)]*`), "${1}RV"},
	{"match the ResourceVersion in", regexp.MustCompile(`(match the ResourceVersion in\s+record\s+\()\d+`), "${1}RV"}, // YAML breaks the line
	// The age of an object from 2017, which a recording is not of the same day as.
	{`"cells"`, regexp.MustCompile(`"(\d+y(\d+d)?|\\u003cinvalid\\u003e)"`), `"AGE"`},
	// The audience of tokens: envtest gives a real server its address.
	{`"audiences"`, regexp.MustCompile(`https://(ADDRESS/|kubernetes\.default\.svc\.cluster\.local)`), "AUDIENCE"},
	// An object that a message quotes: the entries of one second are in the order of their managers.
	{`\"managedFields`, regexp.MustCompile(`(\\+"managedFields\\+":)\[.*?\}\]`), "$1[…]"},
	{"  continue: ", regexp.MustCompile(`(?m)^  continue: \S+$`), "  continue: CONTINUE"},
	{`"continue": "`, regexp.MustCompile(`(?m)^( *"continue"): ".+"(,?)$`), `$1: "CONTINUE"$2`},
	// Addresses of a webhook of the comparison.
	{"/", regexp.MustCompile(`\b(127\.0\.0\.1:\d+|ADDRESS)/(real|ours)\b/?`), "ADDRESS"},
	{"127.0.0.1", regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDRESS"},
}

// masked hides what differs between two runs of one server in an answer as it is compared.
func masked(text string) string {
	for _, m := range masks {
		if strings.Contains(text, m.contains) {
			text = m.pattern.ReplaceAllString(text, m.instead)
		}
	}
	text = withoutGeneratedNames(text)
	if !strings.Contains(text, "\nWarning: ") {
		return text
	}
	return warnings.ReplaceAllStringFunc(text, func(found string) string {
		values := strings.Split(strings.TrimPrefix(found, "Warning: "), ", 299 ")
		values[0] = strings.TrimPrefix(values[0], "299 ")
		slices.Sort(values)
		return "Warning: " + strings.Join(values, ", ")
	})
}

// generateName is the beginning of a name that admission or a random write has given to an object, such as "1".
var generateName = regexp.MustCompile(`"generateName": ?"([^"\\]{1,58})"`)

// withoutGeneratedNames hides the five characters of chance of the names of objects whose generateName the text has.
func withoutGeneratedNames(text string) string {
	if !strings.Contains(text, `"generateName"`) {
		return text
	}
	for _, found := range generateName.FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`([^-.\w])(` + regexp.QuoteMeta(found[1]) + `)[bcdfghjklmnpqrstvwxz2456789]{5}([^-.\w])`)
		text = name.ReplaceAllString(text, "${1}${2}XXXXX${3}")
	}
	return text
}

// warnings are in any order where a real server collects them from a map: those of formats in a definition.
var warnings = regexp.MustCompile(`(?m)^Warning: .*$`)

// undeclared are the mistakes of a typed patch with an undeclared field: a real server looks at fields in the order of a map, and does not look at those
// that come after it.
var undeclared = regexp.MustCompile(`(failed to create typed (?:patch|live) object \([^)]*\)|failed to convert (?:original|patch) object to typed object): (?:[^"\\]|\\.)*field not declared in schema(?:[^"\\]|\\.)*`)

// mistakes are those of a typed patch, whose order is chance on a real server.
var mistakes = regexp.MustCompile(`errors:\\n  \.(?:[^"\\]|\\.)*`)

// embedded is the mistake of an embedded resource that cannot be read: a real server looks at the fields of an object in the order of a map, and
// ends with the first mistake.
var embedded = regexp.MustCompile(`(cannot be handled as a \w+): (?:[^"\\]|\\.)*\.(?:apiVersion|kind|metadata): Invalid value: (?:[^"\\]|\\.)*`)

// mapKey is an item of a list by its key, one of whose values is a map, such as [name=a="x"b="y"]: a real server shows such a map in any order.
var mapKey = regexp.MustCompile(`\[[^\[\]]*=[^\[\]",=]+=[^\[\]]*\]`)

// selfType is the type of a value in CEL, which has a name of chance. It is replaced before mistakes are sorted.
var selfType = regexp.MustCompile(`selfType\d+`)

// inOrder puts the mistakes of a typed patch, the rules of a SelfSubjectRulesReview, and the finalizers of a namespace in deletion into an order.
func inOrder(body []byte) []byte {
	if bytes.Contains(body, []byte("selfType")) {
		body = selfType.ReplaceAll(body, []byte("selfTypeN"))
	}
	if bytes.Contains(body, []byte("cannot be handled as a")) {
		body = embedded.ReplaceAll(body, []byte("$1: …"))
	}
	if bytes.Contains(body, []byte("not declared in schema")) {
		body = undeclared.ReplaceAll(body, []byte("$1: …"))
	}
	if bytes.Contains(body, []byte("entries for key ")) {
		body = mapKey.ReplaceAllFunc(body, func(found []byte) []byte {
			key := bytes.NewBuffer(nil)
			for _, c := range found[1 : len(found)-1] {
				if c != '"' && c != '\\' { // the text stays JSON
					key.WriteByte(c)
				}
			}
			sorted := key.Bytes()
			slices.Sort(sorted) // its characters: where a field of the map ends is not in the text
			return []byte("[" + string(sorted) + "]")
		})
	}
	if bytes.Contains(body, []byte("errors:")) {
		body = mistakes.ReplaceAllFunc(body, func(found []byte) []byte {
			lines := strings.Split(string(found), `\n  .`)
			slices.Sort(lines[1:])
			return []byte(strings.Join(lines, `\n  .`))
		})
	}
	if bytes.Contains(body, []byte(`"SelfSubjectRulesReview"`)) {
		body = exchange.SortArrays(exchange.SortArrays(body, `"resourceRules":`), `"nonResourceRules":`)
	}
	if bytes.Contains(body, []byte(`"kubernetes.io/metadata.name"`)) && bytes.Contains(body, []byte(`"deletionTimestamp"`)) {
		// A namespace: where its deletion changes its finalizers, a real server collects them from a map. All namespaces have that label.
		body = exchange.SortArrays(body, `"finalizers":`)
	}
	if bytes.Contains(body, []byte("managedFields:\n")) {
		body = managedInOrder(body)
	}
	return body
}

// managedInOrder sorts the entries of managedFields in YAML: those of one second are in the order of their managers.
func managedInOrder(body []byte) []byte {
	var sorted, entries []string
	flush := func() {
		slices.Sort(entries)
		sorted, entries = append(sorted, entries...), nil
	}
	begin := "" // of an entry
	for line := range strings.Lines(string(body)) {
		switch {
		case begin != "" && strings.HasPrefix(line, begin):
			entries = append(entries, line)
		case len(entries) > 0 && strings.HasPrefix(line, strings.Replace(begin, "-", " ", 1)):
			entries[len(entries)-1] += line
		default:
			flush()
			sorted, begin = append(sorted, line), ""
			if indent, found := strings.CutSuffix(line, "managedFields:\n"); found {
				begin = indent + "- "
			}
		}
	}
	flush()
	return []byte(strings.Join(sorted, ""))
}

// withoutBookmarks leaves out bookmarks of a watch, except the one that ends the initial events: whether one comes shortly before the watch
// ends is chance.
func withoutBookmarks(body []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(body) {
		if !bytes.Contains(line, []byte(`"type":"BOOKMARK"`)) || bytes.Contains(line, []byte("k8s.io/initial-events-end")) {
			kept = append(kept, line...)
		}
	}
	return kept
}
