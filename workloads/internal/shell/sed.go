package shell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// sed edits lines by a script. With -n only p writes lines, -i edits files in place, and -E is for extended regular
// expressions.
func sed(ctx context.Context, s *Shell, c *Command) int {
	script, names, quiet, inPlace, err := sedArguments(c.Args[1:])
	if err != nil {
		return c.fail(1, "%v", err)
	}
	if len(names) == 0 || !inPlace {
		return sedInput(ctx, s, c, script, names, quiet)
	}
	code := 0
	for _, name := range names {
		info, err := fs.Stat(s.Files, relative(c.absolute(name)))
		if err != nil {
			code = c.fail(1, "can't read %s: %s", name, reason(err))
			continue
		}
		edited := &buffer{limits: limitsOf(ctx)}
		inner := *c
		inner.Stdout = edited
		result := sedInput(ctx, s, &inner, script, []string{name}, quiet)
		data := bytes.Clone(edited.content.Bytes())
		edited.discard()
		if result != 0 || ctx.Err() != nil {
			return max(result, 1)
		}
		if err = s.unlink(c.absolute(name)); err == nil { // a link is replaced
			err = s.Files.WriteFile(c.absolute(name), data, info.Mode().Perm())
		}
		if err != nil {
			code = c.fail(1, "can't write %s: %s", name, reason(err))
		}
	}
	return code
}

// sedArguments reads the arguments of sed.
func sedArguments(given []string) (script []*sedCommand, names []string, quiet, inPlace bool, err error) {
	var texts []string
	extended, separate := false, false
	args := flagReader{args: given, valued: "e"}
	for args.next() {
		switch name := args.name; name {
		case "":
			names = append(names, args.value())
		case "e", "expression":
			texts = append(texts, args.value())
		case "n", "quiet", "silent":
			quiet = true
		case "E", "r", "regexp-extended":
			extended = true
		case "i", "in-place":
			if inPlace = true; args.short != "" || args.given != nil {
				return nil, nil, false, false, unsupported("a suffix of sed -i")
			}
		case "s", "separate":
			separate = true
		case "u", "unbuffered":
		default:
			return nil, nil, false, false, errSed("invalid option -- '" + name + "'")
		}
	}
	if len(texts) == 0 {
		if len(names) == 0 {
			return nil, nil, false, false, errSed("no script specified")
		}
		texts, names = names[:1], names[1:]
	}
	if separate && !inPlace && len(names) > 1 {
		return nil, nil, false, false, unsupported("sed -s")
	}
	script, err = parseSed(strings.Join(texts, "\n"), extended)
	return script, names, quiet, inPlace, err
}

// errQuit ends sed.
var errQuit = errors.New("quit")

func sedInput(ctx context.Context, s *Shell, c *Command, script []*sedCommand, names []string, quiet bool) int {
	for _, command := range script {
		command.inRange = false
	}
	r := &sedRun{ctx: ctx, out: c.Stdout, script: script, quiet: quiet}
	quit := false
	code := c.inputs(ctx, s, names, func(_ string, in io.Reader) error {
		if quit {
			return nil
		}
		err := lines(ctx, in, func(line string) bool {
			r.next(line)
			return r.err == nil
		})
		if quit = errors.Is(r.err, errQuit); quit {
			return nil
		}
		return errors.Join(err, r.err)
	})
	if code == 0 && r.hasHeld && r.err == nil {
		r.edit(r.held, true)
		if r.err != nil && !errors.Is(r.err, errQuit) {
			code = 1
		}
	}
	return code
}

// sedRun edits lines. It holds one line back, because $ matches the last one.
type sedRun struct {
	ctx     context.Context
	out     io.Writer
	script  []*sedCommand
	quiet   bool
	held    string
	hasHeld bool
	number  int
	err     error
	skipTo  int  // after n, the command that continues with the next line
	unended bool // the last output has no newline
}

func (r *sedRun) next(line string) {
	if r.hasHeld {
		r.edit(r.held, false)
	}
	r.held, r.hasHeld = line, true
}

// write writes a line. The last line of a file may lack a newline, which is added if another line follows.
func (r *sedRun) write(text, end string) {
	if r.unended {
		text = "\n" + text
	}
	if r.unended = end == ""; r.err == nil {
		_, r.err = io.WriteString(r.out, text+end)
	}
}

// append writes the texts of a.
func (r *sedRun) append(texts []string) {
	for _, text := range texts {
		r.write(text, "\n")
	}
}

// edit edits one line.
func (r *sedRun) edit(line string, last bool) {
	r.number++
	text, ended := strings.CutSuffix(line, "\n")
	end := "\n"
	if !ended {
		end = ""
	}
	after, begin := []string(nil), r.skipTo
	r.skipTo = 0
	quit := false
commands:
	for i, c := range r.script {
		if r.err = limitsOf(r.ctx).do(len(text) * c.cost); r.err != nil {
			return
		}
		if i < begin || !c.selects(r.number, text, last) {
			continue
		}
		switch c.name {
		case 's':
			if text = r.substitute(c, text, end); r.err != nil {
				return
			}
		case 'y':
			changed := []byte(text)
			for i, b := range changed {
				changed[i] = c.translated[b]
			}
			text = string(changed)
		case 'p':
			r.write(text, end)
		case '=':
			r.write(strconv.Itoa(r.number), "\n")
		case 'i':
			r.write(c.text, "\n")
		case 'a':
			after = append(after, c.text)
		case 'c':
			if !c.inRange { // at the end of a range
				r.write(c.text, "\n")
			}
			r.append(after)
			return
		case 'd':
			r.append(after)
			return
		case 'n':
			if last {
				break commands
			}
			r.skipTo = i + 1
			break commands
		case 'q':
			quit = true
			break commands
		}
	}
	if !r.quiet {
		r.write(text, end)
	}
	if r.append(after); quit && r.err == nil {
		r.err = errQuit
	}
}

// maxProgram is the maximal size of the compiled expressions of a script.
const maxProgram = 1 << 18

// maxEdited is the maximal length of a line of sed.
const maxEdited = 1 << 20

// maxFound is the maximum of matches and groups in a line of sed. Each needs 16 bytes.
const maxFound = 10 * maxEdited

func (r *sedRun) substitute(c *sedCommand, text, lineEnd string) string {
	most := c.occurrence
	if c.global {
		most = -1
	}
	if len(text)*(1+c.matches.NumSubexp()) > maxFound {
		r.err = limitsOf(r.ctx).hold(maxHeld + 1) // ends the run
		return text
	}
	found := c.matches.FindAllStringSubmatchIndex(text, most)
	var b strings.Builder
	end, replaced := 0, false
	for i, match := range found {
		if i+1 < c.occurrence {
			continue
		}
		b.WriteString(text[end:match[0]])
		for _, part := range c.replacement {
			if part.group < 0 {
				b.WriteString(part.text)
			} else if from := match[2*part.group]; from >= 0 {
				b.WriteString(text[from:match[2*part.group+1]])
			}
			if b.Len() > maxEdited {
				r.err = limitsOf(r.ctx).hold(maxHeld + 1) // ends the run
				return text
			}
		}
		if end, replaced = match[1], true; !c.global {
			break
		}
	}
	if !replaced {
		return text
	}
	text = b.String() + text[end:]
	if c.print {
		r.write(text, lineEnd)
	}
	return text
}

// selects reports whether a command applies to a line.
func (c *sedCommand) selects(number int, text string, last bool) (selected bool) {
	defer func() { selected = selected != c.negated }()
	if c.first == nil {
		return true
	}
	if c.second == nil {
		return c.first.selects(number, text, last)
	}
	if c.inRange {
		c.inRange = !(c.second.selects(number, text, last) || c.second.line > 0 && number >= c.second.line)
		return true
	}
	if !c.first.selects(number, text, last) {
		return false
	}
	c.inRange = !(c.second.line > 0 && number >= c.second.line) && !(c.second.last && last)
	return true
}

// selects reports whether the address matches a line.
func (a *sedAddress) selects(number int, text string, last bool) bool {
	switch {
	case a.matches != nil:
		return a.matches.MatchString(text)
	case a.last:
		return last
	}
	return number == a.line
}
