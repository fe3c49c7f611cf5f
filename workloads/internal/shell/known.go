package shell

import (
	"path"
	"strings"
)

// Knows reports whether a command can be run as what it is: it is a program of this package, or a script of sh -c in which everything is
// known. Of a program that it does not know nothing can be said, and so of a script that runs one.
func Knows(words []string) bool {
	if len(words) == 0 || programNamed(path.Base(words[0])) == nil {
		return false
	}
	switch path.Base(words[0]) {
	case "env":
		words = words[1:]
		for len(words) > 0 && strings.Contains(words[0], "=") {
			words = words[1:]
		}
		return len(words) == 0 || Knows(words)
	case "sh", "bash", "ash", "dash":
		words = words[1:]
		for len(words) > 0 && strings.HasPrefix(words[0], "-") {
			if strings.HasSuffix(words[0], "c") {
				return len(words) > 1 && knowsScript(words[1])
			}
			words = words[1:]
		}
		return len(words) == 0
	}
	return true
}

func knowsScript(text string) bool {
	if len(text) > maxHeld/scriptSize {
		return false
	}
	commands, err := parse(text)
	return err == nil && commands.known()
}

func (s script) known() bool {
	for _, p := range s {
		for i := range p.commands {
			if !p.commands[i].known() {
				return false
			}
		}
	}
	return true
}

// own are the commands of the shell itself.
var own = map[string]bool{"exit": true, "cd": true, "export": true, "exec": true, "set": true, "break": true, "continue": true}

func (s *simple) known() bool {
	words := s.words
	for _, r := range s.redirects {
		if !r.file.known() {
			return false
		}
	}
	for _, w := range words {
		if !w.known() {
			return false
		}
	}
	if c := s.compound; c != nil {
		for _, w := range c.words {
			if !w.known() {
				return false
			}
		}
		return c.condition.known() && c.body.known() && c.otherwise.known()
	}
	for len(words) > 0 {
		name, _, assigns := strings.Cut(words[0].begin(), "=")
		if !assigns || name == "" || nameLength(name) != len(name) {
			break
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return true
	}
	var plain []string
	for _, w := range words {
		plain = append(plain, w.text())
	}
	if plain[0] == "exec" {
		return len(plain) > 1 && Knows(plain[1:])
	}
	return own[plain[0]] || Knows(plain)
}

// text returns what a word is without variables and commands; otherwise it is empty, which is not a program.
func (w word) text() string {
	var b strings.Builder
	for _, p := range w {
		if p.variable || p.command != nil {
			return ""
		}
		b.WriteString(p.text)
	}
	return b.String()
}

func (w word) known() bool {
	for _, p := range w {
		if !p.command.known() {
			return false
		}
	}
	return true
}
