package shell

import (
	"fmt"
	"slices"
	"strings"
)

// script is a list of commands that run one after the other.
type script []pipeline

// pipeline is commands of which each reads what the one before has written.
type pipeline struct {
	after    string // the operator before it: && or ||, or empty
	negated  bool
	commands []simple
}

// simple is a program with its arguments, or a compound command.
type simple struct {
	words     []word
	compound  *compound
	redirects []redirect
}

// redirect is a redirection such as 2>>file. A file of "&1" and the like stands for another stream.
type redirect struct {
	stream   int
	operator string // <, > or >>
	file     word
}

// word is a word before its variables are replaced.
type word []part

type part struct {
	text     string
	variable bool   // text is the name of a variable
	fallback string // of ${NAME:-fallback}
	command  script // of $(command); text is empty then
	quoted   bool   // what it becomes is not split, and has no patterns
}

// literal returns the text of a word that has no quotes and no variables.
func (w word) literal() string {
	if len(w) == 1 && !w[0].quoted && !w[0].variable {
		return w[0].text
	}
	return ""
}

// unsupported is an error about what sh has and this package does not.
func unsupported(what string) error {
	return fmt.Errorf("syntax error: %s is not supported by the shell of fakecluster; handle sh with Container.HandleExec", what)
}

type parser struct {
	text   string
	at     int
	nested int // compound commands and $(command) around
}

// reserved are the words at which something begins that is not supported.
var reserved = map[string]bool{
	"case": true, "function": true, "[[": true, "trap": true, "eval": true, ".": true, "source": true,
}

// parse reads a script.
func parse(text string) (script, error) {
	p := &parser{text: text}
	return p.list()
}

// list reads commands up to the end, or to one of the words that end a part of a compound command, which is not read.
func (p *parser) list(ends ...string) (script, error) {
	var all script
	after := ""
	for {
		p.space(after != "" || len(all) == 0)
		if after == "" && len(all) > 0 && p.isNext(ends...) {
			return all, nil
		}
		if p.at == len(p.text) {
			if len(ends) > 0 {
				return nil, fmt.Errorf("syntax error: unexpected end of file (expecting %q)", ends[0])
			}
			if after != "" {
				return nil, fmt.Errorf("syntax error: end of file after %s", after)
			}
			return all, nil
		}
		one, err := p.pipeline()
		if err != nil {
			return nil, err
		}
		if len(one.commands) == 0 {
			return nil, fmt.Errorf("syntax error near %q", p.rest())
		}
		one.after = after
		all = append(all, one)
		p.space(false)
		switch {
		case p.take("&&"):
			after = "&&"
		case p.take("||"):
			after = "||"
		case p.take("\n"), p.take(";"):
			after = ""
			p.space(true)
		case slices.Contains(ends, ")") && p.isNext(")"):
			return all, nil
		case p.at == len(p.text):
			after = ""
		case p.take("&"):
			return nil, unsupported("&, a command in the background,")
		default:
			return nil, fmt.Errorf("syntax error near %q", p.rest())
		}
	}
}

// rest returns the beginning of what has not been read.
func (p *parser) rest() string { return p.text[p.at:min(len(p.text), p.at+20)] }

func (p *parser) take(s string) bool {
	if strings.HasPrefix(p.text[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

// space skips spaces, comments and, if that is set, newlines.
func (p *parser) space(newlines bool) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ', c == '\t', c == '\r', newlines && c == '\n':
			p.at++
		case c == '\\' && strings.HasPrefix(p.text[p.at:], "\\\n"):
			p.at += 2
		case c == '#':
			end := strings.IndexByte(p.text[p.at:], '\n')
			if end < 0 {
				end = len(p.text) - p.at
			}
			p.at += end
		default:
			return
		}
	}
}

func (p *parser) pipeline() (all pipeline, err error) {
	for {
		p.space(len(all.commands) > 0)
		if len(all.commands) == 0 && strings.HasPrefix(p.text[p.at:], "! ") {
			p.at++
			all.negated = true
			continue
		}
		one, err := p.simple()
		if err != nil || one.compound == nil && len(one.words)+len(one.redirects) == 0 {
			return all, err
		}
		all.commands = append(all.commands, one)
		p.space(false)
		if strings.HasPrefix(p.text[p.at:], "||") || !p.take("|") {
			return all, nil
		}
	}
}

func (p *parser) simple() (s simple, err error) {
	for {
		p.space(false)
		if p.at == len(p.text) || strings.IndexByte(";|\n)", p.text[p.at]) >= 0 {
			return s, nil
		}
		if p.text[p.at] == '&' {
			return s, nil
		}
		if p.text[p.at] == '(' {
			return s, unsupported("(, a subshell,")
		}
		if r, ok, err := p.redirect(); err != nil {
			return s, err
		} else if ok {
			s.redirects = append(s.redirects, r)
			continue
		}
		w, err := p.word()
		if err != nil {
			return s, err
		}
		if s.compound != nil {
			return s, fmt.Errorf("syntax error near %q", w.literal())
		}
		if len(s.words) == 0 && reserved[w.literal()] {
			return s, unsupported(w.literal())
		}
		if len(s.words) == 0 && begins[w.literal()] {
			if s.compound, err = p.compound(w.literal()); err != nil {
				return s, err
			}
			continue
		}
		s.words = append(s.words, w)
	}
}

// redirect reads a redirection, if one begins here.
func (p *parser) redirect() (r redirect, ok bool, err error) {
	begin := p.at
	if p.at+1 < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '2' && strings.IndexByte("<>", p.text[p.at+1]) >= 0 {
		r.stream = int(p.text[p.at] - '0')
		p.at++
	} else {
		r.stream = -1
	}
	switch {
	case p.take("<<"), p.take("<>"), p.take(">|"):
		return r, false, unsupported(p.text[begin:p.at])
	case p.take(">>"):
		r.operator = ">>"
	case p.take(">"):
		r.operator = ">"
	case p.take("<"):
		r.operator = "<"
	default:
		p.at = begin
		return r, false, nil
	}
	if r.stream < 0 {
		r.stream = 1
		if r.operator == "<" {
			r.stream = 0
		}
	}
	if p.take("&") {
		if p.take("1") || p.take("2") {
			r.file = word{{text: p.text[p.at-2 : p.at]}}
			return r, true, nil
		}
		return r, false, unsupported(p.text[begin:p.at])
	}
	p.space(false)
	r.file, err = p.word()
	if err == nil && len(r.file) == 0 {
		err = fmt.Errorf("syntax error: no file after %s", r.operator)
	}
	return r, true, err
}

// word reads a word up to the next space or operator.
func (p *parser) word() (w word, err error) {
	var text strings.Builder
	began := false // an empty pair of quotes is a word, too
	flush := func(quoted bool) {
		if text.Len() > 0 || quoted {
			w = append(w, part{text: text.String(), quoted: quoted})
			text.Reset()
		}
	}
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n;|&<>()", p.text[p.at]) < 0 {
		began = true
		switch c := p.text[p.at]; c {
		case '\'':
			end := strings.IndexByte(p.text[p.at+1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("syntax error: unterminated quoted string")
			}
			flush(false)
			text.WriteString(p.text[p.at+1 : p.at+1+end])
			flush(true)
			p.at += end + 2
		case '"':
			flush(false)
			p.at++
			if w, err = p.double(w); err != nil {
				return nil, err
			}
		case '\\':
			if p.at++; p.at < len(p.text) {
				flush(false)
				text.WriteByte(p.text[p.at])
				flush(true)
				p.at++
			}
		case '$':
			flush(false)
			v, err := p.variable(false)
			if err != nil {
				return nil, err
			}
			w = append(w, v)
		case '`':
			return nil, unsupported("`command`")
		default:
			text.WriteByte(c)
			p.at++
		}
	}
	flush(false)
	if began && len(w) == 0 {
		w = word{}
	}
	return w, nil
}

// double reads the rest of a text in double quotes.
func (p *parser) double(w word) (word, error) {
	var text strings.Builder
	empty := true
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			if text.Len() > 0 || empty {
				w = append(w, part{text: text.String(), quoted: true})
			}
			return w, nil
		case c == '\\' && p.at+1 < len(p.text) && strings.IndexByte("\"\\$`", p.text[p.at+1]) >= 0:
			text.WriteByte(p.text[p.at+1])
			p.at += 2
		case c == '$':
			if text.Len() > 0 {
				w = append(w, part{text: text.String(), quoted: true})
				text.Reset()
			}
			v, err := p.variable(true)
			if err != nil {
				return nil, err
			}
			w, empty = append(w, v), false
		case c == '`':
			return nil, unsupported("`command`")
		default:
			text.WriteByte(c)
			p.at++
		}
	}
	return nil, fmt.Errorf("syntax error: unterminated quoted string")
}

// variable reads $NAME, ${NAME}, ${NAME:-fallback}, $?, $$, or a dollar that stands for itself.
func (p *parser) variable(quoted bool) (part, error) {
	p.at++
	rest := p.text[p.at:]
	switch {
	case strings.HasPrefix(rest, "(("):
		return part{}, unsupported("$((arithmetic))")
	case strings.HasPrefix(rest, "("):
		return p.substitution(quoted)
	case strings.HasPrefix(rest, "{"):
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			return part{}, fmt.Errorf("syntax error: unterminated ${")
		}
		p.at += end + 1
		name, fallback, _ := strings.Cut(rest[1:end], ":-")
		if name == "" || nameLength(name) != len(name) && name != "?" {
			return part{}, unsupported("$" + rest[:end+1])
		}
		return part{text: name, variable: true, fallback: fallback, quoted: quoted}, nil
	case rest != "" && strings.IndexByte("?$0123456789@*#", rest[0]) >= 0:
		p.at++
		return part{text: rest[:1], variable: true, quoted: quoted}, nil
	}
	n := nameLength(rest)
	if n == 0 {
		return part{text: "$", quoted: quoted}, nil
	}
	p.at += n
	return part{text: rest[:n], variable: true, quoted: quoted}, nil
}

// nameLength returns the length of the name of a variable at the beginning of a text.
func nameLength(s string) int {
	for i, c := range s {
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return i
		}
	}
	return len(s)
}
