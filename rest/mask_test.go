package rest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// mask puts names in place of what differs from run to run, so that answers can
// be compared byte for byte: <uid1>, <rv1>, <token1>, <time>. The same value has
// the same name throughout one case, and a later request can use the name.
type mask struct {
	names  map[string]string // by kind and value
	values map[string]string // by name
	counts map[string]int    // by kind
}

func newMask() *mask {
	return &mask{names: map[string]string{}, values: map[string]string{}, counts: map[string]int{}}
}

var (
	uidPattern      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timePattern     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	revisionPattern = regexp.MustCompile(`("?resourceVersion"?: ?")(\d+)"`)
	tokenPattern    = regexp.MustCompile(`("?continue"?: ?"?)(eyJ[A-Za-z0-9_=-]+)`)
	countPattern    = regexp.MustCompile(`(current: |too old resource version: \d+ \(|observed resource version \(|ResourceVersion in record \()\d+`)
	addressPattern  = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	randomPattern   = regexp.MustCompile(`Bad_[a-z0-9]{5}`) // of a generated name
	selfTypePattern = regexp.MustCompile(`selfType\d+`)
)

func (m *mask) name(kind, value string) string {
	name := m.names[kind+value]
	if name == "" {
		m.counts[kind]++
		name = fmt.Sprintf("<%s%d>", kind, m.counts[kind])
		m.names[kind+value], m.values[name] = name, value
	}
	return name
}

// hide masks an answer.
func (m *mask) hide(text string) string {
	text = withoutManagedFields(text)
	text = approvalLast(text)
	text = timePattern.ReplaceAllString(text, "<time>")
	text = uidPattern.ReplaceAllStringFunc(text, func(s string) string { return m.name("uid", s) })
	text = tokenPattern.ReplaceAllStringFunc(text, func(s string) string {
		parts := tokenPattern.FindStringSubmatch(s)
		return parts[1] + m.name("token", parts[2]) + describeToken(parts[2])
	})
	text = revisionPattern.ReplaceAllStringFunc(text, func(s string) string {
		parts := revisionPattern.FindStringSubmatch(s)
		if parts[2] == "0" {
			return s
		}
		return parts[1] + m.name("rv", parts[2]) + `"`
	})
	text = addressPattern.ReplaceAllString(text, "<address>")
	text = randomPattern.ReplaceAllString(text, "Bad_<random>")
	text = countPattern.ReplaceAllString(text, "$1<n>")
	return selfTypePattern.ReplaceAllString(text, "selfType<n>")
}

// show replaces the names in a request by their values.
func (m *mask) show(text string) string {
	for name, value := range m.values {
		text = strings.ReplaceAll(text, name, value)
	}
	return text
}

// describeToken says what a continue token holds, its revision aside.
func describeToken(token string) string {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(token, "="))
	if err != nil {
		return "(no base64)"
	}
	var content map[string]any
	if err := json.Unmarshal(raw, &content); err != nil {
		return "(no JSON)"
	}
	if rv, _ := content["rv"].(float64); rv > 0 {
		content["rv"] = "<n>"
	}
	text, _ := json.Marshal(content)
	return "(" + strings.ReplaceAll(string(text), `"`, "'") + ")"
}

var approvalPattern = regexp.MustCompile(`"conditions":\[.*?\]`)

// approvalLast puts the condition about API approval last: on a real server the
// controllers of the conditions race.
func approvalLast(text string) string {
	return approvalPattern.ReplaceAllStringFunc(text, func(list string) string {
		from := strings.Index(list, `{"type":"KubernetesAPIApprovalPolicyConformant"`)
		if from < 0 {
			return list
		}
		to := from + strings.Index(list[from:], "}") + 1
		if list[to] != ',' {
			return list
		}
		return list[:from] + list[to+1:len(list)-1] + "," + list[from:to] + "]"
	})
}

// withoutManagedFields takes metadata.managedFields out of JSON: it is tested by
// itself.
func withoutManagedFields(text string) string {
	const field = `"managedFields":[`
	for {
		start := strings.Index(text, field)
		if start < 0 {
			return text
		}
		end, depth := start+len(field), 1
		for quoted := false; depth > 0 && end < len(text); end++ {
			switch c := text[end]; {
			case quoted && c == '\\':
				end++
			case c == '"':
				quoted = !quoted
			case !quoted && c == '[':
				depth++
			case !quoted && c == ']':
				depth--
			}
		}
		switch {
		case end < len(text) && text[end] == ',':
			end++
		case start > 0 && text[start-1] == ',':
			start--
		}
		text = text[:start] + text[end:]
	}
}
