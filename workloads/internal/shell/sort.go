package shell

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// sortKey is a key of sort: a range of fields of a line, compared as texts or numbers.
type sortKey struct {
	from, to         int // fields; zero: the whole line; to zero: up to the end
	numeric, reverse bool
	fold, blanks     bool // ignore case, and leading blanks of a field
}

// part returns the part of a line that a key compares. Without a separator, the blanks before a field are part of it.
func (k sortKey) part(line, separator string) string {
	start := 0
	if k.from > 1 {
		if start = endOfFields(line, separator, k.from-1); separator != "" {
			start = min(start+1, len(line))
		}
	}
	end := len(line)
	if k.to > 0 {
		end = endOfFields(line, separator, k.to)
	}
	part := line[start:max(start, end)]
	if k.blanks {
		part = strings.TrimLeft(part, " \t")
	}
	return part
}

// endOfFields returns the end of the first count fields of a line.
func endOfFields(line, separator string, count int) (end int) {
	for ; count > 0; count-- {
		size := -1
		if separator != "" {
			size = strings.Index(line[end:], separator)
		} else {
			rest := strings.TrimLeft(line[end:], " \t")
			end = len(line) - len(rest)
			size = strings.IndexAny(rest, " \t")
		}
		if size < 0 {
			return len(line)
		}
		if end += size; count > 1 && separator != "" {
			end++
		}
	}
	return end
}

func (k sortKey) compare(a, b, separator string) int {
	a, b = k.part(a, separator), k.part(b, separator)
	result := 0
	if k.fold {
		a, b = strings.ToUpper(a), strings.ToUpper(b)
	}
	if k.numeric {
		result = cmp.Compare(leadingNumber(a), leadingNumber(b))
	} else {
		result = strings.Compare(a, b)
	}
	if k.reverse {
		return -result
	}
	return result
}

// leadingNumber returns the number at the beginning of a text; 0: there is none.
func leadingNumber(text string) float64 {
	text = strings.TrimLeft(text, " \t")
	end, point := 0, false
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == '.' && !point || text[end] == '-' && end == 0) {
		point = point || text[end] == '.'
		end++
	}
	n, _ := strconv.ParseFloat(text[:end], 64)
	return n
}

// keyOf reads a key such as "2,3n".
func keyOf(text string) (key sortKey, ok bool) {
	for i, part := range strings.SplitN(text, ",", 2) {
		number := strings.TrimRight(part, "nrfb")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return key, false // also 1.2, a character of a field
		}
		flags := part[len(number):]
		key.numeric = key.numeric || strings.Contains(flags, "n")
		key.reverse = key.reverse || strings.Contains(flags, "r")
		key.fold = key.fold || strings.Contains(flags, "f")
		key.blanks = key.blanks || strings.Contains(flags, "b")
		if i == 0 {
			key.from = n
		} else {
			key.to = n
		}
	}
	return key, true
}

// sortProgram sorts lines: -n by number, -r in reverse, -f ignoring case, -b ignoring leading blanks, -u without
// duplicates, -k by fields, which -t separates, and -s in a stable way.
func sortProgram(ctx context.Context, s *Shell, c *Command) int {
	var names []string
	var keys []sortKey
	var whole sortKey
	separator, unique, stable, out := "", false, false, ""
	args := flagReader{args: c.Args[1:], valued: "kto"}
	for args.next() {
		switch args.name {
		case "":
			names = append(names, args.value())
		case "n":
			whole.numeric = true
		case "r":
			whole.reverse = true
		case "f":
			whole.fold = true
		case "u":
			unique = true
		case "s":
			stable = true
		case "b":
			whole.blanks = true
		case "t":
			if separator = args.value(); len(separator) != 1 {
				return c.fail(failed, "multi-character tab '%s'", separator)
			}
		case "o":
			out = args.value()
		case "k":
			text := args.value()
			key, ok := keyOf(text)
			if !ok {
				return c.fail(failed, "invalid key '%s'", text)
			}
			keys = append(keys, key)
		default:
			return c.fail(failed, "invalid option -- '%s'", args.name)
		}
	}
	for i, k := range keys {
		if !k.numeric && !k.reverse && !k.fold && !k.blanks {
			whole.from, whole.to = k.from, k.to
			keys[i] = whole
		}
	}
	if whole.from, whole.to = 0, 0; len(keys) == 0 {
		keys = []sortKey{whole}
	}
	var sorted []string
	l, held := limitsOf(ctx), 0
	defer func() { l.release(held) }()
	code := c.inputs(ctx, s, names, func(_ string, in io.Reader) error {
		return lines(ctx, in, func(line string) bool {
			size := len(line) + 16
			held += size
			sorted = append(sorted, strings.TrimSuffix(line, "\n"))
			return l.hold(size) == nil
		})
	})
	if code != 0 {
		return failed
	}
	compare := func(a, b string) int {
		for _, k := range keys {
			if result := k.compare(a, b, separator); result != 0 {
				return result
			}
		}
		return 0
	}
	stopped := false
	slices.SortStableFunc(sorted, func(a, b string) int {
		if stopped = stopped || l.do((len(a)+len(b))*len(keys)) != nil; stopped {
			return 0
		}
		if result := compare(a, b); result != 0 || unique || stable {
			return result
		}
		if whole.reverse { // the last resort is the whole line
			a, b = b, a
		}
		return strings.Compare(a, b)
	})
	if unique {
		sorted = slices.CompactFunc(sorted, func(a, b string) bool { return compare(a, b) == 0 })
	}
	to := c.Stdout
	if out != "" {
		var err error
		if to, err = s.create(ctx, c, out, false); err != nil {
			return c.fail(failed, "%s: %s", out, reason(err))
		}
	}
	for _, line := range sorted {
		if _, err := fmt.Fprintln(to, line); err != nil || stopped {
			return 1
		}
	}
	return 0
}

// uniq writes one of several equal lines in a row: -c with their number, -d only repeated ones, -u only those that are
// not repeated.
func uniq(ctx context.Context, s *Shell, c *Command) int {
	names, err := c.operands("cdui")
	if err != nil {
		return c.fail(1, "%v", err)
	}
	if len(names) > 1 {
		return c.fail(1, "extra operand '%s'", names[1])
	}
	last, count := "", 0
	write := func() bool {
		if count == 0 || c.has("d") && count == 1 || c.has("u") && count > 1 {
			return true
		}
		var err error
		if c.has("c") {
			_, err = fmt.Fprintf(c.Stdout, "%7d %s\n", count, last)
		} else {
			_, err = fmt.Fprintln(c.Stdout, last)
		}
		return err == nil
	}
	code := c.inputs(ctx, s, names, func(_ string, in io.Reader) error {
		return lines(ctx, in, func(line string) bool {
			text := strings.TrimSuffix(line, "\n")
			if count > 0 && (text == last || c.has("i") && strings.EqualFold(text, last)) {
				count++
				return true
			}
			ok := write()
			last, count = text, 1
			return ok
		})
	})
	if code == 0 && !write() {
		code = 1
	}
	return code
}
