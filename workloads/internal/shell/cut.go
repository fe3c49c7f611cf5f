package shell

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// span is a range of columns, which begin at 1. 0 means an open end.
type span struct{ from, to int }

// spansOf reads a list such as "1,3-5,7-".
func spansOf(list string) (spans []span, ok bool) {
	for _, part := range strings.Split(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		s := span{1, math.MaxInt}
		for _, bound := range []struct {
			text string
			n    *int
		}{{first, &s.from}, {last, &s.to}} {
			if bound.text == "" {
				continue
			}
			n, err := strconv.Atoi(bound.text)
			if err != nil || n < 1 {
				return nil, false
			}
			*bound.n = n
		}
		if !isRange {
			s.to = s.from
		}
		if part == "" || part == "-" || s.to < s.from {
			return nil, false
		}
		spans = append(spans, s)
	}
	return spans, true
}

// cut writes columns of lines: bytes with -c and -b, or fields with -f, which -d separates.
func cut(ctx context.Context, s *Shell, c *Command) int {
	var names []string
	list, kind, delimiter, only := "", "", "\t", false
	args := flagReader{args: c.Args[1:], valued: "bcfd"}
	for args.next() {
		switch args.name {
		case "":
			names = append(names, args.value())
		case "b", "c", "f":
			kind, list = args.name, args.value()
		case "d", "delimiter":
			delimiter = args.value()
		case "s":
			only = true
		case "n":
		default:
			return c.fail(1, "invalid option -- '%s'", args.name)
		}
	}
	spans, ok := spansOf(list)
	switch {
	case kind == "":
		return c.fail(1, "you must specify a list of bytes, characters, or fields")
	case !ok:
		return c.fail(1, "invalid range '%s'", list)
	case len(delimiter) != 1:
		return c.fail(1, "the delimiter must be a single character")
	}
	taken := func(column int) bool {
		return slices.ContainsFunc(spans, func(s span) bool { return s.from <= column && column <= s.to })
	}
	return c.inputs(ctx, s, names, func(_ string, in io.Reader) error {
		return lines(ctx, in, func(line string) bool {
			text := strings.TrimSuffix(line, "\n")
			var kept strings.Builder
			switch {
			case limitsOf(ctx).do(len(text)*len(spans)) != nil:
				return false
			case kind != "f":
				for i := range len(text) {
					if taken(i + 1) {
						kept.WriteByte(text[i])
					}
				}
			case !strings.Contains(text, delimiter):
				if only {
					return true
				}
				kept.WriteString(text)
			default:
				first := true
				column := 0
				for field := range strings.SplitSeq(text, delimiter) {
					if column++; !taken(column) {
						continue
					}
					if !first {
						kept.WriteString(delimiter)
					}
					first = false
					kept.WriteString(field)
				}
			}
			_, err := fmt.Fprintln(c.Stdout, kept.String())
			return err == nil
		})
	})
}
