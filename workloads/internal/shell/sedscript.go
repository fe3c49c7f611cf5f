package shell

import (
	"fmt"
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

// errSed is the error of an invalid script of sed.
type errSed string

func (e errSed) Error() string { return string(e) }

// parseSed parses a script with the commands s, y, d, p, q, =, a, i, c and n. It returns an error for others, such as
// branches.
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
		for { // a backslash at the end of a line continues it
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

// until returns the text before the next delimiter. An escaped delimiter is literal, and one in a bracket expression
// does not end the text.
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
