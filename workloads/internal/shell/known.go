package shell

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Knows reports whether this package can run a command: a program of this package, or a script that runs only such
// programs. read returns the content of a file of the container; nil: there are no files.
func Knows(words []string, read func(name string) ([]byte, error)) bool {
	return knowledge{read: read}.command(words)
}

// knowledge is the context in which Knows checks a command.
type knowledge struct {
	read      func(string) ([]byte, error)
	functions map[string]bool // of the script
	text      string          // of the script
	depth     int             // of files
}

// command reports whether a program, and the programs that it runs, are known.
func (k knowledge) command(words []string) bool {
	if len(words) == 0 {
		return false
	}
	name := path.Base(words[0])
	if programNamed(name) == nil {
		return isPath(words[0]) && k.file(words[0])
	}
	switch {
	case name == "cp":
		return !k.readsImage(words[1:max(len(words)-1, 1)], 1)
	case name == "sed":
		return k.edits(words[1:])
	case name == "sort", name == "uniq", name == "cut", name == "base64", name == "md5sum", name == "sha1sum", name == "sha256sum", name == "readlink", name == "realpath":
		return !k.readsImage(words[1:], 0)
	case name == "find":
		return k.finds(words[1:])
	case name == "xargs":
		return k.repeats(words[1:])
	case name == "env":
		words = words[1:]
		for len(words) > 0 && strings.Contains(words[0], "=") {
			words = words[1:]
		}
		return len(words) == 0 || k.command(words)
	case name == "nohup":
		return len(words) == 1 || k.command(words[1:])
	case name == "timeout":
		return len(words) < 3 || !strings.HasPrefix(words[1], "-") && k.command(words[2:])
	case isShell(name):
		words = words[1:]
		for len(words) > 0 && strings.HasPrefix(words[0], "-") {
			if strings.HasSuffix(words[0], "c") {
				return len(words) > 1 && k.script(words[1], name == "bash")
			}
			words = words[1:]
		}
		return len(words) == 0 || k.file(words[0])
	}
	return true
}

// readsImage reports whether a program reads a file of its image: one that does not exist, that the script does not name
// elsewhere, and that is not in /tmp. For example, init containers copy programs from their images into volumes. Flags
// are not files.
func (k knowledge) readsImage(words []string, least int) bool {
	var names []string
	for _, w := range words {
		if !strings.HasPrefix(w, "-") {
			names = append(names, w)
		}
	}
	if k.read == nil || len(names) < least {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		if i := strings.IndexAny(name, "*?["); i >= 0 {
			name = path.Dir(name[:i] + "x")
		}
		if !path.IsAbs(name) || strings.HasPrefix(name, "/tmp/") || strings.Count(k.text, name) > 1 {
			return false
		}
		_, err := k.read(name)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// edits reports whether a sed is known: its files, and its script, which is not checked if it has variables.
func (k knowledge) edits(words []string) bool {
	if !slices.Contains(words, "") {
		_, names, _, _, err := sedArguments(words)
		return err == nil && !k.readsImage(names, 0)
	}
	return !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-i") && w != "-i" })
}

// finds reports whether a find is known: its expression, its commands and its directories.
func (k knowledge) finds(words []string) bool {
	start := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") || w == "!" || w == "(" })
	if start < 0 {
		start = len(words)
	}
	known := !k.readsImage(words[:start], 0)
	for rest := words[start:]; ; {
		i := slices.Index(rest, "-exec")
		if i < 0 || i+1 == len(rest) {
			break
		}
		rest = rest[i+1:]
		known = known && k.command(rest[:max(slices.Index(rest, ";"), slices.Index(rest, "+"), 0)])
	}
	if slices.Contains(words[start:], "") {
		return known
	}
	_, err := findOptions(words[start:], nil, nil, nil)
	return known && err == nil
}

// repeats reports whether the command of an xargs is known.
func (k knowledge) repeats(words []string) bool {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		if words[0] == "-n" || words[0] == "-I" {
			words = words[min(1, len(words)-1):]
		}
		words = words[1:]
	}
	return len(words) == 0 || k.command(words)
}

// file reports whether a file is a script in which everything is known.
func (k knowledge) file(name string) bool {
	if k.depth++; k.read == nil || k.depth > maxDepth/10 {
		return false
	}
	data, err := k.read(name)
	if err != nil {
		return false
	}
	interpreter, ok := interpreterOf(string(data))
	return ok && k.script(string(data), path.Base(interpreter[0]) == "bash")
}

func (k knowledge) script(text string, bash bool) bool {
	if len(text) > maxScript {
		return false
	}
	file, err := parse(text, bash)
	if err != nil {
		return false
	}
	k.functions, k.text = map[string]bool{}, text
	k.declare(file)
	known := true
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			known = known && k.call(call)
		}
		return known
	})
	return known
}

// declare records the functions of a script, and those of the files that it sources.
func (k knowledge) declare(file *syntax.File) {
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.FuncDecl:
			k.functions[n.Name.Value] = true
		case *syntax.CallExpr:
			if len(n.Args) < 2 || n.Args[0].Lit() != "." && n.Args[0].Lit() != "source" || k.read == nil || k.depth > maxDepth/10 {
				break
			}
			inner := k
			inner.depth++
			if data, err := k.read(plain(n.Args[1].Parts)); err == nil && len(data) <= maxScript {
				if read, err := parse(string(data), true); err == nil {
					inner.declare(read)
				}
			}
		}
		return true
	})
}

func (k knowledge) call(c *syntax.CallExpr) bool {
	var words []string
	for _, w := range c.Args {
		words = append(words, plain(w.Parts))
	}
	switch {
	case k.functions[words[0]]:
		return true
	case words[0] == "exec", words[0] == "command":
		return len(words) == 1 || strings.HasPrefix(words[1], "-") || builtin(words[1]) != nil || k.command(words[1:])
	case words[0] == ".", words[0] == "source":
		return len(words) > 1 && k.file(words[1])
	case words[0] == "eval":
		return false
	}
	return builtin(words[0]) != nil || k.command(words)
}

// plain returns the text of a word without variables and commands; otherwise "", which is no program.
func plain(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			inner := plain(p.Parts)
			if inner == "" && len(p.Parts) > 0 {
				return ""
			}
			b.WriteString(inner)
		default:
			return ""
		}
	}
	return b.String()
}
