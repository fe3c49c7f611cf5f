package shell

import (
	"bufio"
	"bytes"
	"context"
	"strconv"
	"strings"
)

// tr replaces the characters of one set by those of another, or deletes them with -d. -s squeezes repeated characters,
// -c complements the first set, and -t truncates it to the length of the second.
func tr(ctx context.Context, _ *Shell, c *Command) int {
	flags, sets := "", []string(nil)
	for _, a := range c.Args[1:] {
		long := map[string]string{"--complement": "c", "--delete": "d", "--squeeze-repeats": "s", "--truncate-set1": "t"}[a]
		switch {
		case len(sets) > 0 || len(a) < 2 || a[0] != '-':
			sets = append(sets, a)
		case long != "":
			flags += long
		case strings.Trim(a[1:], "dscCt") != "":
			return c.fail(1, "invalid option -- '%c'", strings.Trim(a[1:], "dscCt")[0])
		default:
			flags += a[1:]
		}
	}
	remove, squeeze := strings.Contains(flags, "d"), strings.Contains(flags, "s")
	switch {
	case len(sets) == 0 || len(sets) == 1 && !remove && !squeeze:
		return c.fail(1, "missing operand")
	case len(sets) > 2 || len(sets) == 2 && remove && !squeeze:
		return c.fail(1, "extra operand '%s'", sets[len(sets)-1])
	}
	from, to := characters(sets[0], 0), []byte(nil)
	if strings.ContainsAny(flags, "cC") {
		from = complement(from)
	}
	squeezed := from // the characters of -s
	if len(sets) > 1 {
		to = characters(sets[1], len(from))
		squeezed = to
		if remove {
			to = nil
		}
		if strings.Contains(flags, "t") {
			from = from[:min(len(from), len(to))]
		}
	}
	in := bufio.NewReader(c.Stdin)
	out := bufio.NewWriter(c.Stdout)
	last := -1
	for {
		b, err := in.ReadByte()
		if err != nil {
			break
		}
		if limitsOf(ctx).do(1) != nil {
			return 1
		}
		place := bytes.LastIndexByte(from, b)
		switch {
		case place >= 0 && remove:
			continue
		case place >= 0 && len(to) > 0:
			b = to[min(place, len(to)-1)]
		}
		if squeeze && int(b) == last && bytes.IndexByte(squeezed, b) >= 0 {
			continue
		}
		last = int(b)
		if out.WriteByte(b) != nil {
			return 1
		}
		if in.Buffered() == 0 && out.Flush() != nil {
			return 1
		}
	}
	if out.Flush() != nil {
		return 1
	}
	return 0
}

// complement returns all characters that are not in a set, in order.
func complement(set []byte) (others []byte) {
	for b := range 256 {
		if bytes.IndexByte(set, byte(b)) < 0 {
			others = append(others, byte(b))
		}
	}
	return others
}

// classes are the named sets of characters.
var classes = map[string]func(b byte) bool{
	"lower": func(b byte) bool { return b >= 'a' && b <= 'z' },
	"upper": func(b byte) bool { return b >= 'A' && b <= 'Z' },
	"digit": func(b byte) bool { return b >= '0' && b <= '9' },
	"alpha": func(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' },
	"alnum": func(b byte) bool { return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z' },
	"xdigit": func(b byte) bool {
		return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'f'
	},
	"space": func(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' },
	"blank": func(b byte) bool { return b == ' ' || b == '\t' },
	"cntrl": func(b byte) bool { return b < 0x20 || b == 0x7f },
	"print": func(b byte) bool { return b >= 0x20 && b < 0x7f },
	"graph": func(b byte) bool { return b > 0x20 && b < 0x7f },
	"punct": func(b byte) bool {
		return b > 0x20 && b < 0x7f && !(b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z')
	},
}

// maxRepeat is the maximum of repetitions by [x*n].
const maxRepeat = 256

// characters returns the characters of a set of tr, with escapes, ranges such as a-z, classes such as [:digit:], and
// repetitions [x*n]. [x*] fills the set up to a length.
func characters(set string, length int) (found []byte) {
	for set != "" {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(set, "[:"), ":]"); ok && strings.HasPrefix(set, "[:") && classes[name] != nil {
			for b := range 256 {
				if classes[name](byte(b)) {
					found = append(found, byte(b))
				}
			}
			set = rest
			continue
		}
		if inner, isRepeat := strings.CutPrefix(set, "["); isRepeat && inner != "" {
			b, rest := character(inner)
			if count, after, ok := strings.Cut(strings.TrimPrefix(rest, "*"), "]"); ok && strings.HasPrefix(rest, "*") && strings.Trim(count, "0123456789") == "" {
				n, _ := strconv.Atoi(count)
				if n == 0 {
					n = length - len(found)
				}
				found = append(found, bytes.Repeat([]byte{b}, max(0, min(n, maxRepeat)))...)
				set = after
				continue
			}
		}
		b, rest := character(set)
		if len(rest) > 1 && rest[0] == '-' {
			if last, after := character(rest[1:]); b <= last {
				for n := int(b); n <= int(last); n++ {
					found = append(found, byte(n))
				}
				set = after
				continue
			}
		}
		found, set = append(found, b), rest
	}
	return found
}

// character returns the first character of a set of tr, which may be an escape such as \n and \012, and the rest of the
// set.
func character(set string) (b byte, rest string) {
	if set[0] != '\\' || len(set) == 1 {
		return set[0], set[1:]
	}
	digits := 1
	for digits < min(len(set), 4) && set[digits] >= '0' && set[digits] <= '7' {
		digits++
	}
	if n, err := strconv.ParseUint(set[1:digits], 8, 8); err == nil {
		return byte(n), set[digits:]
	}
	if i := strings.IndexByte("abfnrtv", set[1]); i >= 0 {
		return "\a\b\f\n\r\t\v"[i], set[2:]
	}
	return set[1], set[2:]
}
