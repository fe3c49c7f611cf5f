package syntax

import (
	"strings"

	"github.com/google/cel-go/cel"
)

// A mark is a YAML tag in place of a value. It expresses what a value cannot. Kubernetes manifests do not
// use tags, so a mark cannot be confused with content.
//
// A tree of a scenario is a JSON value (map[string]any, []any, string, int64,
// float64, bool, nil) that may contain marks in place of values.
type (
	// Absent is !absent: the field is not there.
	Absent struct{}
	// Present is !present: the field is there, whatever its value.
	Present struct{}
	// Only is !only: the mapping has these fields and no others.
	Only struct{ Fields map[string]any }
	// Unordered is !unordered: the list has these items and no others, in any order.
	Unordered struct{ Items []any }
	// From is !from: the value at a path in the answer to an earlier step.
	From struct {
		Pos    Position
		Answer string
		Path   []string
	}
	// Computed is !cel: the value of an expression over earlier answers, or over the request that a
	// webhook received.
	Computed struct {
		Pos     Position
		Text    string
		Program cel.Program
	}
)

// The tags of the marks.
const (
	TagAbsent    = "!absent"
	TagPresent   = "!present"
	tagOnly      = "!only"
	TagUnordered = "!unordered"
	TagFrom      = "!from"
	tagCEL       = "!cel"
)

// The marks that are allowed in each place. A manifest is sent, so its marks must have a value. The answer of a webhook
// can depend only on the request that it received.
var (
	noMarks          = []string{}
	valueMarks       = []string{tagCEL, TagFrom}
	manifestMarks    = []string{TagAbsent, tagCEL, TagFrom}
	expectationMarks = []string{TagAbsent, tagCEL, TagFrom, tagOnly, TagPresent, TagUnordered}
	parameterMarks   = []string{TagAbsent, TagFrom, tagOnly, TagPresent, TagUnordered}
	replyMarks       = []string{TagAbsent, tagCEL}
)

func (f From) String() string {
	return TagFrom + " " + strings.Join(append([]string{f.Answer}, f.Path...), ".")
}
