package shell

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// expression is a regular expression. size is the size of its program, which is the maximum of steps for a byte of a
// text. Repetitions make it larger than its text.
type expression struct {
	*regexp.Regexp
	size int
}

// expressionOf returns a regular expression of grep or sed: a basic one, in which characters such as + are special with
// a backslash, or an extended one. The longest alternative matches.
func expressionOf(text string, extended, fold bool) (*expression, error) {
	flags := "(?s)"
	if fold {
		flags = "(?si)"
	}
	text = flags + goSyntax(text, extended)
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	compiled.Longest()
	size := 1
	if parsed, err := syntax.Parse(text, syntax.Perl); err == nil {
		if program, err := syntax.Compile(parsed.Simplify()); err == nil {
			size = len(program.Inst)
		}
	}
	return &expression{compiled, size}, nil
}

// goSyntax returns a basic or an extended regular expression in Go's syntax.
func goSyntax(text string, extended bool) string {
	var b strings.Builder
	begins := true    // the expression, a group or an alternative: ^ is an anchor here
	anchored := false // after ^, where * is literal, as at the beginning of an expression
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		if rest[0] == '[' {
			class, size := goClass(rest)
			if size == 0 {
				return b.String() + rest // Go knows the error
			}
			b.WriteString(class)
			i, begins, anchored = i+size-1, false, false
			continue
		}
		special, token := extended, rest[:1] // a token is a character, perhaps with a backslash
		if rest[0] == '\\' && len(rest) > 1 {
			i++
			special, token = !extended, rest[1:2]
			if !strings.Contains("+?|(){}", token) {
				b.WriteString(goEscape(token))
				begins, anchored = false, false
				continue
			}
		}
		next := text[i+1:]
		switch {
		case token == "{" && special:
			b.WriteString("{")
			if strings.HasPrefix(next, ",") {
				b.WriteString("0")
			}
		case strings.Contains("+?|(){}", token):
			if !special {
				b.WriteString(`\`)
			}
			b.WriteString(token)
			begins, anchored = special && (token == "|" || token == "("), false
			continue
		case token == "*" && (begins || anchored),
			token == "^" && !extended && !begins,
			token == "$" && !extended && next != "" && !strings.HasPrefix(next, `\)`) && !strings.HasPrefix(next, `\|`):
			b.WriteString(`\` + token)
		default:
			b.WriteString(token)
			begins, anchored = false, token == "^"
			continue
		}
		begins, anchored = false, false
	}
	return b.String()
}

// goEscape returns an escaped character in Go's syntax, which has one anchor for both ends of a word.
func goEscape(character string) string {
	switch character {
	case "<", ">":
		return `\b`
	case "`":
		return `\A`
	case "'":
		return `\z`
	}
	return `\` + character
}

// goClass returns the bracket expression at the beginning of a text in Go's syntax, and its size in the text; 0: it does
// not end. A backslash is literal in brackets, except in \n and \t.
func goClass(text string) (class string, size int) {
	var b strings.Builder
	b.WriteByte('[')
	i := 1
	if strings.HasPrefix(text[i:], "^") {
		b.WriteByte('^')
		i++
	}
	for first := i; i < len(text); i++ {
		switch rest := text[i:]; {
		case rest[0] == ']' && i > first:
			b.WriteByte(']')
			return b.String(), i + 1
		case strings.HasPrefix(rest, "[:") && strings.Contains(rest, ":]"):
			end := strings.Index(rest, ":]") + 2
			b.WriteString(rest[:end])
			i += end - 1
		case strings.HasPrefix(rest, `\n`), strings.HasPrefix(rest, `\t`):
			b.WriteString(rest[:2])
			i++
		case strings.IndexByte(`\[]`, rest[0]) >= 0:
			b.WriteString(`\` + rest[:1])
		default:
			b.WriteByte(rest[0])
		}
	}
	return "", 0
}
