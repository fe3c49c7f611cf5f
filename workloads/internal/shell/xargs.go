package shell

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fill returns words with a text replaced by another.
func fill(ctx context.Context, words []string, old, text string) ([]string, error) {
	size := 0
	for _, w := range words {
		size += len(w) + strings.Count(w, old)*len(text)
	}
	if err := limitsOf(ctx).words(size); err != nil {
		return nil, err
	}
	filled := make([]string, len(words))
	for i, w := range words {
		filled[i] = strings.ReplaceAll(w, old, text)
	}
	return filled, nil
}

// runNamed runs a command, and returns its exit code.
func (s *Shell) runNamed(ctx context.Context, c *Command, words []string, in io.Reader) int {
	if limitsOf(ctx).words(sizeOf(words)) != nil {
		return failed
	}
	p := s.find(c, words[0])
	if p == nil {
		return c.fail(127, "%s: No such file or directory", words[0])
	}
	inner := *c
	inner.Args, inner.Stdin = words, in
	return p(ctx, &inner)
}

// xargs runs a command with the words of its input. -n limits the words of one run, -I runs the command for each line,
// which replaces a text, -0 is for words that end with a zero byte, and with -r the command does not run without words.
func xargs(ctx context.Context, s *Shell, c *Command) int {
	most, replace, zero, none := 0, "", false, false
	args := c.Args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		value := a[2:]
		if (a[1] == 'n' || a[1] == 'I' || a[1] == 'L') && value == "" && len(args) > 0 {
			value, args = args[0], args[1:]
		}
		switch {
		case a == "-0" || a == "--null":
			zero = true
		case a == "-r" || a == "--no-run-if-empty":
			none = true
		case a == "-0r" || a == "-r0":
			zero, none = true, true
		case a[1] == 'n':
			var err error
			if most, err = strconv.Atoi(value); err != nil || most < 1 {
				return c.fail(1, "invalid number '%s'", value)
			}
		case a[1] == 'I' && value != "":
			replace = value
		default:
			return c.fail(1, "invalid option -- '%s'", strings.TrimLeft(a, "-"))
		}
	}
	if len(args) == 0 {
		args = []string{"echo"}
	}
	words, err := xargsWords(ctx, c.Stdin, zero, replace != "")
	if err != nil {
		return c.fail(1, "%v", err)
	}
	code := 0
	run := func(words []string) {
		switch result := s.runNamed(ctx, c, words, strings.NewReader("")); {
		case result == 127:
			code = 127
		case result == 255:
			code = 124
		case result != 0 && code == 0:
			code = 123
		}
	}
	stops := func() bool { return code == 127 || code == 124 || ctx.Err() != nil }
	if replace != "" {
		for _, w := range words {
			filled, err := fill(ctx, args, replace, w)
			if err != nil {
				return failed
			}
			if run(filled); stops() {
				break
			}
		}
		return code
	}
	if len(words) == 0 {
		if !none {
			run(args)
		}
		return code
	}
	if most == 0 {
		most = len(words)
	}
	for part := range slices.Chunk(words, most) {
		if run(slices.Concat(args, part)); stops() {
			break
		}
	}
	return code
}

// xargsWords reads the words of xargs, which may have quotes and backslashes, or its lines.
func xargsWords(ctx context.Context, in io.Reader, zero, byLine bool) (words []string, err error) {
	l := limitsOf(ctx)
	r := bufio.NewReader(in)
	var word strings.Builder
	started, quote, escaped := false, byte(0), false
	size := 0
	end := func() {
		if started {
			words = append(words, word.String())
		}
		word.Reset()
		started = false
	}
	for {
		b, err := r.ReadByte()
		if err != nil {
			break
		}
		if size++; size%1024 == 0 && errors.Join(ctx.Err(), l.do(1024)) != nil || size > maxWords {
			return nil, l.words(maxWords + 1)
		}
		switch {
		case zero && b == 0, byLine && b == '\n' && !zero:
			started = started || zero
			end()
		case zero:
			started = true
			word.WriteByte(b)
		case escaped:
			escaped = false
			word.WriteByte(b)
		case quote != 0 && b == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(b)
		case b == '\'' || b == '"':
			quote, started = b, true
		case b == '\\':
			escaped, started = true, true
		case b < utf8.RuneSelf && unicode.IsSpace(rune(b)) && (!byLine || !started):
			end()
		default:
			started = true
			word.WriteByte(b)
		}
	}
	if quote != 0 {
		return nil, errors.New("unmatched quote")
	}
	end()
	return words, nil
}
