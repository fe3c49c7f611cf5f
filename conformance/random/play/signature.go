package play

import (
	"regexp"
	"strings"

	"github.com/fakecluster/fakecluster/conformance/wire/exchange"
)

// chance are parts of a difference that another history with the same cause has otherwise.
var chance = regexp.MustCompile(`\d+|"(?:[^"\\]|\\.)*"`)

// Signature is the same for differences that look as if they had one cause: the method, the type of a patch, and the first lines
// that differ, without their values.
func (d *Difference) Signature() string {
	var minus, plus string
	for _, line := range exchange.Differing(d.Diff) {
		if strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++") {
			continue
		}
		if line[0] == '-' && minus == "" {
			minus = line
		}
		if line[0] == '+' && plus == "" {
			plus = line
		}
	}
	key := func(line string) string { // the name of a field counts, its value does not
		name, value, found := strings.Cut(line, `": `)
		if !found {
			return chance.ReplaceAllString(line, "…")
		}
		return name + `": ` + chance.ReplaceAllString(value, "…")
	}
	return d.Step.Method + " " + d.Step.Type + " " + key(minus) + " " + key(plus)
}
