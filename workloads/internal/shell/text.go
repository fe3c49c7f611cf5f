package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
)

// wide matches widths that printf does not support, because they would fill the memory.
var wide = regexp.MustCompile(`%[^a-zA-Z%]*([0-9]{4}|\*)`)

// printf writes a text with arguments.
func printf(ctx context.Context, _ *Shell, c *Command) int {
	args := c.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return c.fail(failed, "usage: printf FORMAT [ARGUMENT]...")
	}
	format, rest := args[0], args[1:]
	if wide.MatchString(format) {
		return c.fail(failed, "%v", unsupported("a width of 1000 or more"))
	}
	for {
		text, used, err := expand.Format(&expand.Config{}, format, rest) // without one, all callers share the same buffer
		if err != nil {
			return c.fail(1, "%v", err)
		}
		if _, err := io.WriteString(c.Stdout, text); err != nil || limitsOf(ctx).do(len(text)) != nil {
			return 1
		}
		if rest = rest[min(used, len(rest)):]; used == 0 || len(rest) == 0 {
			return 0
		}
	}
}

// inputs calls a function with each named file, or with the input if there is none.
func (c *Command) inputs(ctx context.Context, s *Shell, names []string, do func(name string, in io.Reader) error) (code int) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		in, err := c.Stdin, error(nil)
		if name != "-" {
			in, err = s.open(ctx, c, name)
		}
		if err != nil {
			code = c.fail(1, "%s: %s", name, reason(err))
			continue
		}
		if err := do(name, in); err != nil {
			return 1
		}
	}
	return code
}

// lines calls a function for each line, with its newline, until it returns false.
func lines(ctx context.Context, in io.Reader, do func(line string) bool) error {
	l := limitsOf(ctx)
	r := bufio.NewReader(io.LimitReader(in, maxHeld+1))
	read := 0
	for {
		line, err := r.ReadString('\n')
		if err := errors.Join(ctx.Err(), l.do(len(line))); err != nil {
			return err
		}
		if read += len(line); read > maxHeld {
			return l.hold(maxHeld + 1)
		}
		if line != "" && !do(line) || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// head writes the first lines of its input, by default 10, or the first bytes with -c.
func head(ctx context.Context, s *Shell, c *Command) int {
	count, bytes := 10, false
	var names []string
	args := flagReader{args: c.Args[1:], valued: "nc"}
	for args.next() {
		name := args.name
		switch {
		case name == "n" || name == "c":
			var err error
			if count, err = strconv.Atoi(args.value()); err != nil || count < 0 {
				return c.fail(1, "invalid number")
			}
			bytes = name == "c"
		case name == "":
			names = append(names, args.value())
		case name[0] >= '0' && name[0] <= '9': // -5
			count, _ = strconv.Atoi(name + args.short)
			args.short = ""
		case name != "q":
			return c.fail(1, "invalid option -- '%s'", name)
		}
	}
	return c.inputs(ctx, s, names, func(_ string, in io.Reader) error {
		if bytes {
			_, err := io.Copy(c.Stdout, io.LimitReader(in, int64(count)))
			return err
		}
		left := count
		if left == 0 {
			return nil
		}
		return lines(ctx, in, func(line string) bool {
			_, err := io.WriteString(c.Stdout, line)
			left--
			return err == nil && left > 0
		})
	})
}

// tail writes the last lines of files, by default 10. With -f it then writes appended data, and does not end.
func tail(ctx context.Context, s *Shell, c *Command) int {
	count, follow := 10, false
	var names []string
	args := flagReader{args: c.Args[1:], valued: "nsc"}
	for args.next() {
		name := args.name
		switch {
		case name == "f" || name == "F" || name == "follow" || name == "retry":
			follow = true
		case name == "q" || name == "v":
		case name == "s":
			args.value()
		case name == "n" || name == "lines":
			if _, err := fmt.Sscanf(args.value(), "%d", &count); err != nil || count < 0 {
				return c.fail(1, "invalid number")
			}
		case name == "":
			names = append(names, args.value())
		case name[0] >= '0' && name[0] <= '9':
			count, _ = strconv.Atoi(name + args.short)
			args.short = ""
		default:
			return c.fail(1, "invalid option -- '%s'", name)
		}
	}
	var followed []*followedFile
	code := c.inputs(ctx, s, names, func(name string, in io.Reader) error {
		var last []string
		read := 0
		err := lines(ctx, in, func(line string) bool {
			read += len(line)
			if last = append(last, line); len(last) > count {
				last = last[1:]
			}
			return true
		})
		if name != "-" && name != "/dev/null" {
			followed = append(followed, &followedFile{c.absolute(name), read})
		}
		_, failed := io.WriteString(c.Stdout, strings.Join(last, ""))
		return errors.Join(err, failed)
	})
	if !follow || code != 0 && len(followed) == 0 {
		return code
	}
	return s.follow(ctx, c, followed)
}

// followedFile is a file of tail -f. read is the number of bytes already written.
type followedFile struct {
	name string
	read int
}

// follow writes data that is appended to files.
func (s *Shell) follow(ctx context.Context, c *Command, followed []*followedFile) int {
	if len(followed) != 1 {
		<-ctx.Done() // several files are not followed
		return Terminated
	}
	for f := followed[0]; ; {
		changed := s.Files.Changed(f.name)
		if data, err := s.Files.ReadFile(f.name); err == nil {
			f.read = min(f.read, len(data)) // the file may have been truncated
			if len(data) > f.read {
				if _, err := c.Stdout.Write(data[f.read:]); err != nil {
					return 1
				}
				f.read = len(data)
			}
		}
		var tick <-chan time.Time
		if changed == nil { // a program of this machine may write it
			timer := time.NewTimer(time.Second)
			defer timer.Stop()
			tick = timer.C
		}
		select {
		case <-changed:
		case <-tick:
		case <-ctx.Done():
			return Terminated
		}
	}
}

// seq writes numbers.
func seq(ctx context.Context, _ *Shell, c *Command) int {
	first, step, last := 1, 1, 0
	var numbers []int
	for _, a := range c.Args[1:] {
		n, err := strconv.Atoi(a)
		if err != nil {
			return c.fail(1, "invalid number '%s'", a)
		}
		numbers = append(numbers, n)
	}
	switch len(numbers) {
	case 1:
		last = numbers[0]
	case 2:
		first, last = numbers[0], numbers[1]
	case 3:
		first, step, last = numbers[0], numbers[1], numbers[2]
	default:
		return c.fail(1, "one to three numbers are needed")
	}
	if step == 0 {
		return c.fail(1, "the step is 0")
	}
	l := limitsOf(ctx)
	for n := first; (step > 0 && n <= last || step < 0 && n >= last) && ctx.Err() == nil; n += step {
		if _, err := fmt.Fprintln(c.Stdout, n); err != nil || l.do(0) != nil {
			return 1
		}
	}
	return 0
}

// tee copies its input to its output and to files. With -a it appends.
func tee(ctx context.Context, s *Shell, c *Command) int {
	to, appends := []io.Writer{c.Stdout}, false
	for _, a := range c.Args[1:] {
		if a == "-a" || a == "-i" {
			appends = appends || a == "-a"
			continue
		}
		w, err := s.create(ctx, c, a, appends)
		if err != nil {
			return c.fail(1, "%s: %s", a, reason(err))
		}
		to = append(to, w)
	}
	if _, err := io.Copy(io.MultiWriter(to...), c.Stdin); err != nil {
		return 1
	}
	return 0
}

// wc counts lines, words and bytes.
func wc(ctx context.Context, s *Shell, c *Command) int {
	shown := ""
	var names []string
	for _, a := range c.Args[1:] {
		if flags, ok := strings.CutPrefix(a, "-"); ok && flags != "" {
			if strings.Trim(flags, "lwc") != "" {
				return c.fail(1, "invalid option -- '%s'", strings.Trim(flags, "lwc")[:1])
			}
			shown += flags
			continue
		}
		names = append(names, a)
	}
	if shown == "" {
		shown = "lwc"
	}
	return c.inputs(ctx, s, names, func(name string, in io.Reader) error {
		counts := map[string]int{}
		err := lines(ctx, in, func(line string) bool {
			if strings.HasSuffix(line, "\n") {
				counts["l"]++
			}
			counts["w"] += len(strings.Fields(line))
			counts["c"] += len(line)
			return true
		})
		var row []string
		for _, what := range []string{"l", "w", "c"} {
			if strings.Contains(shown, what) {
				row = append(row, strconv.Itoa(counts[what]))
			}
		}
		if name != "-" {
			row = append(row, name)
		}
		fmt.Fprintln(c.Stdout, strings.Join(row, " "))
		return err
	})
}

// group returns a regular expression as a group, in basic or extended syntax.
func group(expression string, extended bool) string {
	if extended {
		return "(" + expression + ")"
	}
	return `\(` + expression + `\)`
}

// grep writes the lines that match a basic regular expression, an extended one with -E, or a text with -F.
func grep(ctx context.Context, s *Shell, c *Command) int {
	var names []string
	expression, given := "", false
	has := map[string]bool{}
	args := flagReader{args: c.Args[1:], valued: "e"}
	for args.next() {
		switch name := args.name; name {
		case "e":
			expression, given = args.value(), true
		case "":
			if value := args.value(); given {
				names = append(names, value)
			} else {
				expression, given = value, true
			}
		case "q", "v", "i", "c", "o", "E", "F", "w", "x", "s", "h", "n":
			has[name] = true
		default:
			return c.fail(failed, "invalid option -- '%s'", name)
		}
	}
	if !given {
		return c.fail(failed, "a pattern is needed")
	}
	extended := has["E"] || has["F"]
	if has["F"] {
		expression = regexp.QuoteMeta(expression)
	}
	if has["w"] {
		expression = `\<` + group(expression, extended) + `\>`
	}
	if has["x"] {
		expression = "^" + group(expression, extended) + "$"
	}
	compiled, err := expressionOf(expression, extended, has["i"])
	if err != nil {
		return c.fail(failed, "%v", err)
	}
	found, number := 0, 0
	code := c.inputs(ctx, s, names, func(name string, in io.Reader) error {
		number = 0
		return lines(ctx, in, func(line string) bool {
			text := strings.TrimSuffix(line, "\n")
			number++
			if limitsOf(ctx).do(len(text)*compiled.size) != nil || compiled.MatchString(text) == has["v"] {
				return ctx.Err() == nil
			}
			found++
			prefix := ""
			if len(names) > 1 && !has["h"] {
				prefix = name + ":"
			}
			if has["n"] {
				prefix += strconv.Itoa(number) + ":"
			}
			switch {
			case has["q"]:
				return false
			case has["c"]:
			case has["o"]:
				for _, part := range compiled.FindAllString(text, -1) {
					fmt.Fprintln(c.Stdout, prefix+part)
				}
			default:
				fmt.Fprintln(c.Stdout, prefix+text)
			}
			return true
		})
	})
	if has["c"] {
		fmt.Fprintln(c.Stdout, found)
	}
	switch {
	case code != 0 && found == 0:
		return failed
	case found == 0:
		return 1
	}
	return 0
}
