package generate

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// matching returns texts that a pattern matches: one as short as possible, and one that takes optional parts
// once. There are none for a pattern that cannot be read, or whose assertions the texts break.
func matching(pattern string) (texts []any) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil
	}
	for _, optional := range []int{1, 0} {
		var b strings.Builder
		write(&b, tree, optional)
		if compiled.MatchString(b.String()) {
			texts = append(texts, b.String())
		}
	}
	return texts
}

// write writes a text that an expression matches. optional is how often a part is written that may be missing.
func write(b *strings.Builder, expression *syntax.Regexp, optional int) {
	times := 1
	switch expression.Op {
	case syntax.OpLiteral:
		b.WriteString(string(expression.Rune))
		return
	case syntax.OpCharClass:
		b.WriteRune(pick(expression.Rune))
		return
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
		return
	case syntax.OpAlternate:
		write(b, expression.Sub[0], optional)
		return
	case syntax.OpStar, syntax.OpQuest:
		times = optional
	case syntax.OpRepeat:
		times = max(expression.Min, min(optional, max(expression.Max, 0)))
	}
	for range times {
		for _, sub := range expression.Sub {
			write(b, sub, optional)
		}
	}
}

// pick returns a character of a class, which is a list of ranges: a letter or a digit if there is one.
func pick(ranges []rune) rune {
	for _, want := range "x1A" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= want && want <= ranges[i+1] {
				return want
			}
		}
	}
	if len(ranges) == 0 {
		return 'x'
	}
	return ranges[0]
}
