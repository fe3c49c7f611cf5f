package printable

import "testing"

func TestText(t *testing.T) {
	for rule, c := range map[string]struct{ text, want string }{
		"a plain text":               {"default/a: größer → 3\n\tb 🙂 \ufffd", "default/a: größer → 3\n\tb 🙂 \ufffd"},
		"an empty text":              {"", ""},
		"an escape sequence":         {"a\x1b[31mred\x1b[0m", `a\u001b[31mred\u001b[0m`},
		"a title of the terminal":    {"\x1b]0;x\a", `\u001b]0;x\u0007`},
		"a line that is overwritten": {"real\rfake", `real\rfake`},
		"delete and backspace":       {"a\b\x7f", `a\u0008\u007f`},
		"an 8-bit control":           {"\u009b31m", `\u009b31m`},
		"a byte that is not UTF-8":   {"ä\x9b31m", `ä\x9b31m`},
		"a change of direction":      {"a\u202eb\u2066", `a\u202eb\u2066`},
		"a null":                     {"a\x00b", `a\u0000b`},
	} {
		if got := Text(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", rule, got, c.want)
		}
	}
}

func BenchmarkText(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Text("website-operator update websites.example.com/status default/blog: 409 Conflict: Operation cannot be fulfilled")
	}
}
