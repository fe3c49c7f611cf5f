package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// redirect changes the streams of the shell.
func (r *session) redirect(ctx context.Context, redirects []*syntax.Redirect) error {
	for _, d := range redirects {
		if d.Op == syntax.Hdoc || d.Op == syntax.DashHdoc {
			text, ok := r.document(ctx, d)
			if !ok {
				return ctx.Err()
			}
			r.command.Stdin = strings.NewReader(text)
			continue
		}
		name, ok := r.text(ctx, d.Word)
		if !ok {
			return errors.New("the file of a redirection is not known")
		}
		if err := r.redirectTo(ctx, d, name); err != nil {
			return err
		}
	}
	return nil
}

// redirectTo changes a stream.
func (r *session) redirectTo(ctx context.Context, d *syntax.Redirect, name string) error {
	c := &r.command
	stream := &c.Stdout
	if d.N != nil && d.N.Value == "2" {
		stream = &c.Stderr
	}
	switch d.Op {
	case syntax.WordHdoc:
		c.Stdin = strings.NewReader(name + "\n")
	case syntax.RdrIn:
		in, err := r.shell.open(ctx, c, name)
		if err != nil {
			return fmt.Errorf("can't open %s: %s", name, shortReason(err))
		}
		c.Stdin = in
	case syntax.DplIn:
		if name == "-" {
			c.Stdin = strings.NewReader("")
		} else if name != "0" {
			return fmt.Errorf("%s: bad file descriptor", name)
		}
	case syntax.DplOut:
		switch name {
		case "1":
			*stream = c.Stdout
		case "2":
			*stream = c.Stderr
		case "-":
			*stream = io.Discard
		default:
			return fmt.Errorf("%s: bad file descriptor", name)
		}
	default:
		out, err := r.shell.create(ctx, c, name, d.Op == syntax.AppOut || d.Op == syntax.AppAll)
		if err != nil {
			return fmt.Errorf("can't create %s: %s", name, shortReason(err))
		}
		*stream = out
		if d.Op == syntax.RdrAll || d.Op == syntax.AppAll {
			c.Stdout, c.Stderr = out, out
		}
	}
	return nil
}

// shortReason returns the reason of an error in the form of busybox's shell.
func shortReason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "no such file"
	}
	return reason(err)
}

// document returns the text of a here-document.
func (r *session) document(ctx context.Context, d *syntax.Redirect) (text string, ok bool) {
	if d.Hdoc == nil {
		return "", true
	}
	for _, part := range d.Word.Parts {
		lit, plain := part.(*syntax.Lit)
		if !plain || strings.Contains(lit.Value, `\`) { // nothing is replaced
			return d.Hdoc.Lit(), true
		}
	}
	ok = r.expand(ctx, []*syntax.Word{d.Hdoc}, func(config *expand.Config) (err error) {
		text, err = expand.Document(config, d.Hdoc)
		return errors.Join(err, limitsOf(ctx).do(len(text)))
	})
	return text, ok
}

// open opens a file or a device to read it.
func (s *Shell) open(ctx context.Context, c *Command, name string) (io.Reader, error) {
	switch name {
	case "/dev/null":
		return strings.NewReader(""), nil
	case "/dev/stdin", "/proc/self/fd/0":
		return c.Stdin, nil
	case "/dev/zero":
		return device{ctx, func(p []byte) { clear(p) }}, nil
	case "/dev/urandom", "/dev/random":
		numbers := rand.New(rand.NewPCG(uint64(len(s.Hostname)), 1))
		return device{ctx, func(p []byte) {
			for i := range p {
				p[i] = byte(numbers.Uint32())
			}
		}}, nil
	}
	data, err := s.read(ctx, c.absolute(name))
	if err != nil {
		return nil, err
	}
	return bytes.NewReader(data), nil
}

// device is an input without an end.
type device struct {
	ctx  context.Context
	fill func([]byte)
}

// Read implements io.Reader.
func (d device) Read(p []byte) (int, error) {
	if err := limitsOf(d.ctx).do(len(p)); err != nil {
		return 0, err
	}
	d.fill(p)
	return len(p), d.ctx.Err()
}

// create opens a file or a device to write it. It creates missing directories, because those of the image are unknown.
func (s *Shell) create(ctx context.Context, c *Command, name string, appends bool) (io.Writer, error) {
	switch name {
	case "/dev/stdout", "/proc/self/fd/1", "/proc/1/fd/1":
		return c.Stdout, nil
	case "/dev/stderr", "/proc/self/fd/2", "/proc/1/fd/2":
		return c.Stderr, nil
	case "/dev/null":
		return io.Discard, nil
	}
	path := c.absolute(name)
	f := &file{ctx: ctx, shell: s, name: path, mode: 0o644}
	info, err := fs.Stat(s.Files, relative(path))
	if err == nil {
		if info.IsDir() {
			return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
		}
		f.mode = info.Mode().Perm()
	}
	if appends && err == nil {
		f.size = int(info.Size())
		return f, nil
	}
	return f, s.Files.WriteFile(path, nil, f.mode)
}

// file is a file that is being written. Each write is visible at once.
type file struct {
	ctx   context.Context
	shell *Shell
	name  string
	mode  fs.FileMode
	size  int
}

// Write implements io.Writer.
func (f *file) Write(data []byte) (int, error) {
	l := limitsOf(f.ctx)
	if f.size += len(data); f.size > maxHeld {
		return 0, l.hold(maxHeld + 1)
	}
	if err := l.do(len(data)); err != nil {
		return 0, err
	}
	if err := f.shell.Files.Append(f.name, data, f.mode); err != nil {
		return 0, err
	}
	return len(data), nil
}

// reason returns the system's text for an error about a file.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "No such file or directory"
	case errors.Is(err, fs.ErrExist):
		return "File exists"
	case errors.Is(err, syscall.EPERM): // it is an fs.ErrPermission, too
		return "Operation not permitted"
	case errors.Is(err, fs.ErrPermission):
		return "Permission denied"
	}
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// relative returns the name of package io/fs for an absolute path.
func relative(name string) string {
	if name = strings.TrimPrefix(path.Clean(name), "/"); name == "" {
		return "."
	}
	return name
}
