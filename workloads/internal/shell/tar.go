package shell

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

// tarProgram writes and reads archives on the standard streams, as kubectl cp needs it: tar cf - PATH, and tar xf - -C
// FOLDER.
func tarProgram(ctx context.Context, s *Shell, c *Command) int {
	var create, extract bool
	var names []string
	in := *c
	args := c.Args[1:]
	for first := true; len(args) > 0; first = false {
		a := args[0]
		args = args[1:]
		if strings.HasPrefix(a, "--") {
			if a != "--no-same-permissions" && a != "--no-same-owner" {
				return c.fail(64, "unrecognized option '%s'", a)
			}
			continue
		}
		flags, dashed := strings.CutPrefix(a, "-")
		if !first && (!dashed || flags == "") {
			names = append(names, a)
			continue
		}
		for _, f := range flags {
			switch f {
			case 'c':
				create = true
			case 'x':
				extract = true
			case 'm', 'p', 'v', 'o':
			case 'f', 'C':
				if len(args) == 0 {
					return c.fail(64, "option requires an argument -- '%c'", f)
				}
				if f == 'C' {
					in.Dir = c.absolute(args[0])
				} else if args[0] != "-" {
					return c.fail(2, "%v", unsupported("an archive in a file"))
				}
				args = args[1:]
			default:
				return c.fail(64, "invalid option -- '%c'", f)
			}
		}
	}
	switch {
	case create == extract:
		return c.fail(2, "you must specify one of the options -c and -x")
	case extract:
		return s.extract(ctx, &in)
	}
	return s.archive(ctx, &in, names)
}

// archive writes an archive of files and directories.
func (s *Shell) archive(ctx context.Context, c *Command, names []string) int {
	code := 0
	w := tar.NewWriter(c.Stdout)
	for _, name := range names {
		place := relative(c.absolute(name))
		err := fs.WalkDir(s.Files, place, func(found string, entry fs.DirEntry, err error) error {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			target := ""
			if info.Mode()&fs.ModeSymlink != 0 {
				if target, err = fs.ReadLink(s.Files, found); err != nil {
					return err
				}
			}
			header, err := tar.FileInfoHeader(info, target)
			if err != nil {
				return err
			}
			header.Name = strings.TrimPrefix(path.Join(name, strings.TrimPrefix(strings.TrimPrefix(found, place), "/")), "/")
			if entry.IsDir() {
				header.Name += "/"
			}
			if entry.IsDir() || target != "" {
				return w.WriteHeader(header)
			}
			data, err := s.read(ctx, "/"+found)
			if err != nil {
				return err
			}
			header.Size = int64(len(data))
			if err := w.WriteHeader(header); err != nil {
				return err
			}
			_, err = w.Write(data)
			return err
		})
		if err != nil {
			code = c.fail(2, "%s: Cannot stat: %s", name, reason(err))
		}
	}
	if err := w.Close(); err != nil {
		return c.fail(2, "%v", err)
	}
	return code
}

// extract reads an archive into the directory of the command.
func (s *Shell) extract(ctx context.Context, c *Command) int {
	r := tar.NewReader(c.Stdin)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			_, _ = io.Copy(io.Discard, c.Stdin) // the padding of the archive
			return 0
		}
		if err != nil {
			return c.fail(2, "%v", err)
		}
		place := path.Join(c.Dir, path.Clean("/"+header.Name))
		switch header.Typeflag {
		case tar.TypeDir:
			if path.Clean("/"+header.Name) != "/" { // the directory to extract to may be a link
				err = s.unlink(place)
			}
			if err == nil {
				err = s.Files.Mkdir(place)
			}
		case tar.TypeReg:
			data := buffer{limits: limitsOf(ctx)}
			if _, err = io.Copy(&data, r); err == nil {
				err = s.unlink(place)
			}
			if err == nil {
				err = s.Files.WriteFile(place, data.content.Bytes(), fs.FileMode(header.Mode).Perm())
			}
			data.discard()
		case tar.TypeSymlink:
			err = s.Files.Symlink(header.Linkname, place)
		default:
			return c.fail(2, "%s: %v", header.Name, unsupported("a file that is neither regular, a directory nor a symbolic link"))
		}
		if err != nil {
			return c.fail(2, "%s: Cannot open: %s", header.Name, reason(err))
		}
	}
}

// unlink removes a symbolic link, before a file or a directory replaces it.
func (s *Shell) unlink(place string) error {
	info, err := fs.Lstat(s.Files, relative(place))
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil // the writer gets the error
	}
	return s.Files.Remove(place)
}
