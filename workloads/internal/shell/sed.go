package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	translated  *[256]byte // of y
	text        string     // of a, i and c

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
		from, to := unescape.Replace(parts[0]), unescape.Replace(parts[1])
		if len(from) != len(to) {
			return nil, errSed("strings for 'y' command are different lengths")
		}
		c.translated = &[256]byte{}
		for b := range c.translated {
			c.translated[b] = byte(b)
			if place := strings.IndexByte(from, byte(b)); place >= 0 {
				c.translated[b] = to[place]
			}
		}
		return c, p.end()
	case 'a', 'i', 'c':
		text := strings.TrimLeft(p.rest, " \t")
		if after, ok := strings.CutPrefix(text, "\\"); ok { // keeps the spaces of the text
			text = after
			if first, rest, found := strings.Cut(after, "\n"); found && strings.Trim(first, " \t") == "" {
				text = rest
			}
		}
		for { // a line that ends with a backslash goes on
			line, rest, more := strings.Cut(text, "\n")
			joined, goesOn := strings.CutSuffix(line, "\\")
			if c.text += withoutBackslashes(joined); !goesOn || !more {
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

// withoutBackslashes returns a text of a, i or c without the backslashes before its characters. \n and \t are a newline and a tab.
func withoutBackslashes(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		switch i++; text[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
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
		delimiter := p.rest[0]
		p.rest = p.rest[1:]
		expression, err := p.until(delimiter, true)
		if err != nil {
			return nil, err
		}
		fold := strings.HasPrefix(p.rest, "I")
		p.rest = strings.TrimPrefix(p.rest, "I")
		matches, err := p.expression(expression, fold)
		return &sedAddress{matches: matches}, err
	}
	return nil, nil
}

// expression returns a regular expression of the script.
func (p *sedParser) expression(text string, fold bool) (*expression, error) {
	if text == "" {
		return nil, unsupported("the empty regular expression of sed")
	}
	return expressionOf(text, p.extended, fold)
}

// until returns what is before the next delimiter. An escaped delimiter is the character, and one in the brackets of an expression is not the end.
func (p *sedParser) until(delimiter byte, isExpression bool) (string, error) {
	var b strings.Builder
	for i := 0; i < len(p.rest); i++ {
		switch {
		case p.rest[i] == '\\' && i+1 < len(p.rest):
			if i++; p.rest[i] != delimiter {
				b.WriteByte('\\')
			}
		case p.rest[i] == '[' && isExpression:
			if _, size := goClass(p.rest[i:]); size > 0 {
				b.WriteString(strings.ReplaceAll(p.rest[i:i+size], `\`+string(delimiter), string(delimiter)))
				i += size - 1
				continue
			}
		case p.rest[i] == delimiter:
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
	p.rest = p.rest[1:]
	if parts[0], err = p.until(delimiter, name == "s"); err == nil {
		parts[1], err = p.until(delimiter, false)
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
			digits := len(p.rest) - len(strings.TrimLeft(p.rest, "0123456789"))
			n, err := strconv.Atoi(p.rest[:digits])
			if err != nil {
				return errSed("number option to 's' command is too large")
			}
			c.occurrence, p.rest = n, p.rest[digits-1:]
		default:
			break flags
		}
		p.rest = p.rest[1:]
	}
	if c.matches, err = p.expression(parts[0], fold); err != nil {
		return err
	}
	var text []byte
	add := func(group int) {
		if len(text) > 0 {
			c.replacement = append(c.replacement, sedPart{string(text), -1})
		}
		text = nil
		if group >= 0 {
			c.replacement = append(c.replacement, sedPart{"", group})
		}
	}
	for i := 0; i < len(parts[1]); i++ {
		switch b := parts[1][i]; {
		case b == '&':
			add(0)
		case b != '\\' || i+1 == len(parts[1]):
			text = append(text, b)
		default:
			i++
			switch b := parts[1][i]; {
			case b >= '0' && b <= '9':
				if int(b-'0') > c.matches.NumSubexp() {
					return errSed(fmt.Sprintf("invalid reference \\%c on 's' command's RHS", b))
				}
				add(int(b - '0'))
			case b == 'n':
				text = append(text, '\n')
			case b == 't':
				text = append(text, '\t')
			case strings.IndexByte("ULulE", b) >= 0:
				return unsupported("\\" + string(b) + " of sed")
			default:
				text = append(text, b)
			}
		}
	}
	add(-1)
	return p.end()
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
	skipTo  int  // after n, the command that goes on with the next line
	unended bool // what was written last has no newline
}

func (r *sedRun) next(line string) {
	if r.hasHeld {
		r.edit(r.held, false)
	}
	r.held, r.hasHeld = line, true
}

// write writes a line. The end of the last line of a file may be missing; it is there if another line follows.
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

// maxProgram is the size of the programs of the expressions of a script.
const maxProgram = 1 << 18

// maxEdited is the length of a line of sed.
const maxEdited = 1 << 20

// maxFound is how many matches and groups a line of sed may have: each needs 16 bytes.
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
	c.inRange = !(c.second.line > 0 && number >= c.second.line) && !(c.second.last && last)
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
