package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
)

// sedAddress selects lines by number, by a regular expression, or the last one.
type sedAddress struct {
	line    int
	last    bool
	matches *expression
}

// sedCommand is a command of a script of sed.
type sedCommand struct {
	first, second *sedAddress // nil: there is none
	negated       bool
	name          byte

	matches     *expression // of s
	replacement []sedPart
	global      bool
	print       bool
	occurrence  int
	from, to    []byte // of y
	text        string // of a, i and c

	cost    int // of a byte of a line
	inRange bool
}

// sedPart is a part of the replacement of s: a text, or a group of the match.
type sedPart struct {
	text  string
	group int // -1: it is a text
}

// sedParser reads a script of sed.
type sedParser struct {
	rest     string
	extended bool
}

// errSed is the error of a script that sed does not understand.
type errSed string

func (e errSed) Error() string { return string(e) }

// parseSed reads a script: s, y, d, p, q, =, a, i, c, n with addresses. Others, such as branches, are an error.
func parseSed(script string, extended bool) (commands []*sedCommand, err error) {
	p, size := &sedParser{script, extended}, 0
	for {
		p.rest = strings.TrimLeft(p.rest, " \t\n;")
		if p.rest == "" {
			return commands, nil
		}
		if p.rest[0] == '#' {
			_, p.rest, _ = strings.Cut(p.rest, "\n")
			continue
		}
		command, err := p.command()
		if err != nil {
			return nil, err
		}
		command.cost = 1
		for _, address := range []*sedAddress{command.first, command.second} {
			if address != nil && address.matches != nil {
				command.cost += address.matches.size
			}
		}
		if command.matches != nil {
			command.cost += command.matches.size
		}
		if size += command.cost; size > maxProgram {
			return nil, errSed("the script is too large")
		}
		commands = append(commands, command)
	}
}

func (p *sedParser) command() (c *sedCommand, err error) {
	c = &sedCommand{}
	if c.first, err = p.address(); err != nil {
		return nil, err
	}
	if c.first != nil && strings.HasPrefix(p.rest, ",") {
		p.rest = strings.TrimLeft(p.rest[1:], " ")
		if c.second, err = p.address(); err != nil {
			return nil, err
		}
		if c.second == nil {
			return nil, unsupported("the address of sed " + p.rest)
		}
	}
	p.rest = strings.TrimLeft(p.rest, " \t")
	for strings.HasPrefix(p.rest, "!") {
		c.negated = true
		p.rest = strings.TrimLeft(p.rest[1:], " ")
	}
	if p.rest == "" {
		return nil, errSed("missing command")
	}
	c.name, p.rest = p.rest[0], p.rest[1:]
	switch c.name {
	case 'd', 'p', 'q', '=', 'n':
		return c, p.end()
	case 's':
		return c, p.substitution(c)
	case 'y':
		parts, err := p.parts("y")
		if err != nil {
			return nil, err
		}
		unescape := strings.NewReplacer(`\n`, "\n", `\\`, `\`)
		c.from, c.to = []byte(unescape.Replace(parts[0])), []byte(unescape.Replace(parts[1]))
		if len(c.from) != len(c.to) {
			return nil, errSed("strings for 'y' command are different lengths")
		}
		return c, p.end()
	case 'a', 'i', 'c':
		text := strings.TrimLeft(p.rest, " \t")
		if after, ok := strings.CutPrefix(text, "\\"); ok {
			text = strings.TrimPrefix(strings.TrimLeft(after, " \t"), "\n")
		}
		for { // a line that ends with a backslash goes on
			line, rest, more := strings.Cut(text, "\n")
			joined, goesOn := strings.CutSuffix(line, "\\")
			if c.text += joined; !goesOn || !more {
				p.rest = rest
				break
			}
			c.text += "\n"
			text = rest
		}
		if c.text == "" {
			return nil, errSed("expected \\ after 'a', 'c' or 'i'")
		}
		return c, nil
	}
	return nil, unsupported("the command " + string(c.name) + " of sed")
}

// end reads the end of a command.
func (p *sedParser) end() error {
	p.rest = strings.TrimLeft(p.rest, " \t")
	if p.rest == "" || p.rest[0] == ';' || p.rest[0] == '\n' || p.rest[0] == '#' {
		return nil
	}
	return errSed("extra characters after command")
}

func (p *sedParser) address() (*sedAddress, error) {
	switch {
	case p.rest == "":
		return nil, nil
	case p.rest[0] == '$':
		p.rest = p.rest[1:]
		return &sedAddress{last: true}, nil
	case p.rest[0] >= '0' && p.rest[0] <= '9':
		digits := len(p.rest) - len(strings.TrimLeft(p.rest, "0123456789"))
		n, err := strconv.Atoi(p.rest[:digits])
		p.rest = p.rest[digits:]
		if err != nil || n == 0 || strings.HasPrefix(p.rest, "~") {
			return nil, unsupported("the address of sed " + strconv.Itoa(n) + p.rest)
		}
		return &sedAddress{line: n}, nil
	case p.rest[0] == '/', p.rest[0] == '\\' && len(p.rest) > 1:
		p.rest = strings.TrimPrefix(p.rest, "\\")
		expression, err := p.until(p.rest[0], 1)
		if err != nil {
			return nil, err
		}
		fold := strings.HasPrefix(p.rest, "I")
		p.rest = strings.TrimPrefix(p.rest, "I")
		matches, err := expressionOf(expression, p.extended, fold)
		return &sedAddress{matches: matches}, err
	}
	return nil, nil
}

// until returns what is up to a delimiter, which is also where it begins when skip is 1. An escaped delimiter is the character.
func (p *sedParser) until(delimiter byte, skip int) (string, error) {
	var b strings.Builder
	inClass := false
	for i := skip; i < len(p.rest); i++ {
		switch {
		case p.rest[i] == '\\' && i+1 < len(p.rest):
			if i++; p.rest[i] != delimiter {
				b.WriteByte('\\')
			}
			b.WriteByte(p.rest[i])
			continue
		case p.rest[i] == '[' && skip == 1 && !inClass && strings.Contains(p.rest[i:], "]"):
			inClass = true
		case p.rest[i] == ']':
			inClass = false
		case p.rest[i] == delimiter && !inClass:
			text := b.String()
			p.rest = p.rest[i+1:]
			return text, nil
		}
		b.WriteByte(p.rest[i])
	}
	return "", errSed("unterminated address regex or command")
}

// parts reads the two parts of s and y.
func (p *sedParser) parts(name string) (parts [2]string, err error) {
	if p.rest == "" || p.rest[0] == '\\' || p.rest[0] == '\n' {
		return parts, errSed(fmt.Sprintf("unterminated '%s' command", name))
	}
	delimiter := p.rest[0]
	if parts[0], err = p.until(delimiter, 1); err == nil {
		parts[1], err = p.until(delimiter, 0)
	}
	if err != nil {
		err = errSed(fmt.Sprintf("unterminated '%s' command", name))
	}
	return parts, err
}

func (p *sedParser) substitution(c *sedCommand) error {
	parts, err := p.parts("s")
	if err != nil {
		return err
	}
	fold := false
	c.occurrence = 1
flags:
	for p.rest != "" {
		switch f := p.rest[0]; {
		case f == 'g':
			c.global = true
		case f == 'p':
			c.print = true
		case f == 'i' || f == 'I':
			fold = true
		case f >= '1' && f <= '9':
			c.occurrence = int(f - '0')
		default:
			break flags
		}
		p.rest = p.rest[1:]
	}
	if c.matches, err = expressionOf(parts[0], p.extended, fold); err != nil {
		return err
	}
	text := ""
	add := func(group int) {
		if text != "" {
			c.replacement = append(c.replacement, sedPart{text, -1})
		}
		text = ""
		if group >= 0 {
			c.replacement = append(c.replacement, sedPart{"", group})
		}
	}
	for i := 0; i < len(parts[1]); i++ {
		switch b := parts[1][i]; {
		case b == '&':
			add(0)
		case b != '\\' || i+1 == len(parts[1]):
			text += string(b)
		default:
			i++
			switch b := parts[1][i]; {
			case b >= '0' && b <= '9':
				if int(b-'0') > c.matches.NumSubexp() {
					return errSed(fmt.Sprintf("invalid reference \\%c on 's' command's RHS", b))
				}
				add(int(b - '0'))
			case b == 'n':
				text += "\n"
			case b == 't':
				text += "\t"
			case strings.IndexByte("ULulE", b) >= 0:
				return unsupported("\\" + string(b) + " of sed")
			default:
				text += string(b)
			}
		}
	}
	add(-1)
	return p.end()
}

// expression is a regular expression, and the size of its program: so many steps a byte of a text takes at most. Repetitions make it larger than its text.
type expression struct {
	*regexp.Regexp
	size int
}

// expressionOf returns a regular expression of grep or sed: a basic one, in which + and the like are special with a backslash, or an extended one.
func expressionOf(text string, extended, fold bool) (*expression, error) {
	text = strings.NewReplacer(`\\`, `\\`, `\<`, `\b`, `\>`, `\b`).Replace(text)
	if !extended {
		text = strings.NewReplacer(`\\`, `\\`, `\+`, "+", `\?`, "?", `\|`, "|", `\(`, "(", `\)`, ")", `\{`, "{", `\}`, "}",
			"+", `\+`, "?", `\?`, "|", `\|`, "(", `\(`, ")", `\)`, "{", `\{`, "}", `\}`).Replace(text)
	}
	if fold {
		text = "(?i)" + text
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	size := 1
	if parsed, err := syntax.Parse(text, syntax.Perl); err == nil {
		if program, err := syntax.Compile(parsed.Simplify()); err == nil {
			size = len(program.Inst)
		}
	}
	return &expression{compiled, size}, nil
}

// sed edits lines by a script. -n writes only what p writes, -i edits files, and -E takes extended regular expressions.
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
		if err := s.Files.WriteFile(c.absolute(name), data, info.Mode().Perm()); err != nil {
			code = c.fail(1, "can't write %s: %s", name, reason(err))
		}
	}
	return code
}

// sedArguments reads the arguments of sed.
func sedArguments(given []string) (script []*sedCommand, names []string, quiet, inPlace bool, err error) {
	var texts []string
	extended := false
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
		case "u", "s":
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

// sedRun edits lines. One line is held back, because $ is the last one.
type sedRun struct {
	ctx     context.Context
	out     io.Writer
	script  []*sedCommand
	quiet   bool
	held    string
	hasHeld bool
	number  int
	err     error
	skipTo  int // after n, the command that goes on with the next line
}

func (r *sedRun) next(line string) {
	if r.hasHeld {
		r.edit(r.held, false)
	}
	r.held, r.hasHeld = line, true
}

func (r *sedRun) write(text, end string) {
	if r.err == nil {
		_, r.err = io.WriteString(r.out, text+end)
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
	after, begin := "", r.skipTo
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
			if text = r.substitute(c, text); r.err != nil {
				return
			}
		case 'y':
			changed := []byte(text)
			for i, b := range changed {
				if place := bytes.IndexByte(c.from, b); place >= 0 {
					changed[i] = c.to[place]
				}
			}
			text = string(changed)
		case 'p':
			r.write(text, "\n")
		case '=':
			r.write(strconv.Itoa(r.number), "\n")
		case 'i':
			r.write(c.text, "\n")
		case 'a':
			after += c.text + "\n"
		case 'c':
			if c.second == nil || !c.inRange || last {
				r.write(c.text, "\n")
			}
			r.write(after, "")
			return
		case 'd':
			r.write(after, "")
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
	if after != "" {
		end = "\n"
	}
	if !r.quiet {
		r.write(text, end)
	}
	if r.write(after, ""); quit && r.err == nil {
		r.err = errQuit
	}
}

// maxProgram is the size of the programs of the expressions of a script.
const maxProgram = 1 << 18

// maxEdited is the length of a line of sed.
const maxEdited = 1 << 20

func (r *sedRun) substitute(c *sedCommand, text string) string {
	found := c.matches.FindAllStringSubmatchIndex(text, -1)
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
		r.write(text, "\n")
	}
	return text
}

// selects reports whether a command is for a line.
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
	c.inRange = !last && !(c.second.line > 0 && number >= c.second.line) && !(c.second.last && last)
	return true
}

// selects reports whether a line is that of the address.
func (a *sedAddress) selects(number int, text string, last bool) bool {
	switch {
	case a.matches != nil:
		return a.matches.MatchString(text)
	case a.last:
		return last
	}
	return number == a.line
}
