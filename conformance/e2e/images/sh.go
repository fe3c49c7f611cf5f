package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/fakecluster/fakecluster/workloads"
)

// sh runs scripts of specs, which need more of the language than the shell that every container has. The files are those of
// the container, and so are the programs.
func sh(ctx context.Context, c *workloads.ExecCommand) error {
	var script string
	fromStdin, args := true, c.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		isScript := strings.HasSuffix(args[0], "c")
		if args = args[1:]; isScript && len(args) > 0 {
			script, fromStdin, args = args[0], false, args[1:]
			break
		}
	}
	if len(args) > 0 {
		args = args[1:] // $0
	}
	f := scriptFiles{c.Container}
	runner, err := interp.New(
		interp.Env(expand.ListEnviron(c.Container.Environment...)), interp.Dir("/"), interp.Params(append([]string{"--"}, args...)...),
		interp.StdIO(c.Stdin, c.Stdout, c.Stderr), interp.OpenHandler(f.open), interp.StatHandler(f.stat), interp.ReadDirHandler2(f.readDir),
		interp.AccessHandler(func(ctx context.Context, path string, _ interp.AccessMode) error {
			_, err := f.stat(ctx, path, true)
			return err
		}),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
			return func(ctx context.Context, args []string) error {
				h := interp.HandlerCtx(ctx)
				code, err := c.Container.Exec(ctx, args, h.Stdin, h.Stdout, h.Stderr)
				switch {
				case err != nil:
					fmt.Fprintf(h.Stderr, "sh: %s: not found\n", args[0])
					code = 127
				case code == 0:
					return nil
				}
				return interp.ExitStatus(code)
			}
		}))
	if err != nil {
		return err
	}
	if fromStdin {
		err = runLines(ctx, runner, c.Stdin)
	} else {
		err = runScript(ctx, runner, script)
	}
	if code := interp.ExitStatus(0); errors.As(err, &code) {
		return workloads.Exit(int(code))
	}
	if syntaxError := (syntax.ParseError{}); errors.As(err, &syntaxError) {
		fmt.Fprintln(c.Stderr, "sh:", err)
		return workloads.Exit(2)
	}
	return err
}

// runScript runs a whole script.
func runScript(ctx context.Context, runner *interp.Runner, script string) error {
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return err
	}
	return runner.Run(ctx, file)
}

// runLines runs each line when it has come, until an exit or the end of lines.
func runLines(ctx context.Context, runner *interp.Runner, lines io.Reader) (status error) {
	if lines == nil {
		return nil
	}
	parser := syntax.NewParser()
	for statements, err := range parser.InteractiveSeq(lines) {
		if err != nil {
			return err
		}
		if parser.Incomplete() {
			continue
		}
		for _, s := range statements {
			if status = runner.Run(ctx, s); runner.Exited() {
				return status
			}
		}
	}
	return status
}

// scriptFiles are the files of a container as a script sees them.
type scriptFiles struct{ c *workloads.Container }

// name returns the name of a file in package io/fs.
func (f scriptFiles) name(dir, file string) string {
	if !path.IsAbs(file) {
		file = path.Join(dir, file)
	}
	if file = strings.Trim(path.Clean(file), "/"); file == "" {
		return "."
	}
	return file
}

func (f scriptFiles) stat(ctx context.Context, file string, _ bool) (fs.FileInfo, error) {
	return fs.Stat(f.c.FS(), f.name(interp.HandlerCtx(ctx).Dir, file))
}

func (f scriptFiles) readDir(ctx context.Context, file string) ([]fs.DirEntry, error) {
	return fs.ReadDir(f.c.FS(), f.name(interp.HandlerCtx(ctx).Dir, file))
}

func (f scriptFiles) open(ctx context.Context, file string, flag int, mode fs.FileMode) (io.ReadWriteCloser, error) {
	if file == "/dev/null" {
		return &openFile{}, nil
	}
	name := "/" + f.name(interp.HandlerCtx(ctx).Dir, file)
	content, err := f.c.ReadFile(name)
	if flag&(os.O_WRONLY|os.O_RDWR) == 0 || flag&os.O_CREATE == 0 && err != nil {
		return &openFile{read: *bytes.NewReader(content)}, err
	}
	if flag&os.O_TRUNC != 0 || errors.Is(err, fs.ErrNotExist) {
		content = nil
	}
	open := &openFile{write: func(more []byte) error {
		content = append(content, more...)
		return f.c.WriteFile(name, content, mode)
	}}
	if err := open.write(nil); errors.Is(err, syscall.EROFS) {
		return nil, &fs.PathError{Op: "/bin/sh: can't create", Path: file, Err: errReadOnly}
	} else if err != nil {
		return nil, err
	}
	return open, nil
}

// errReadOnly is syscall.EROFS in busybox's words.
var errReadOnly = errors.New("Read-only file system")

// openFile is a file that is read, or written at its end.
type openFile struct {
	read  bytes.Reader
	write func([]byte) error // nil: nothing keeps what is written
}

func (o *openFile) Read(p []byte) (int, error) { return o.read.Read(p) }
func (o *openFile) Close() error               { return nil }

func (o *openFile) Write(p []byte) (int, error) {
	if o.write == nil {
		return len(p), nil
	}
	return len(p), o.write(p)
}
