package syntax

import (
	"strings"

	"github.com/google/cel-go/cel"
)

// A mark is a YAML tag where a value would stand. It says of a field what no
// value can say, and since Kubernetes manifests carry no tags of their own, it
// cannot be taken for content.
//
// A tree of a scenario is a JSON value (map[string]any, []any, string, int64,
// float64, bool, nil) in which marks may stand in the place of values.
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
	// Computed is !cel: what an expression makes of earlier answers, or of the request that a
	// webhook got.
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

// Where which marks make sense: a manifest says what to send, so it has no use for a
// mark that leaves the value open. What a webhook replies depends on what it got, and
// on nothing that it cannot know.
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
