package shell

import (
	"bufio"
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
)

// sum writes checksums of files, and compares them with -c.
func sum(ctx context.Context, s *Shell, c *Command) int {
	newHash := map[string]func() hash.Hash{"md5sum": md5.New, "sha1sum": sha1.New, "sha256sum": sha256.New}[path.Base(c.Args[0])]
	names, err := c.operands("bcts")
	if err != nil {
		return c.fail(1, "%v", err)
	}
	digest := func(in io.Reader) (string, error) {
		h := newHash()
		err := copyCounted(ctx, h, in)
		return hex.EncodeToString(h.Sum(nil)), err
	}
	if !c.has("c") {
		return c.inputs(ctx, s, names, func(name string, in io.Reader) error {
			text, err := digest(in)
			if err == nil {
				fmt.Fprintf(c.Stdout, "%s  %s\n", text, name)
			}
			return err
		})
	}
	wrong, empty := 0, 0
	code := c.inputs(ctx, s, names, func(list string, in io.Reader) error {
		checked := false
		err := lines(ctx, in, func(line string) bool {
			want, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if !ok || len(name) < 2 || len(want) != 2*newHash().Size() {
				return true
			}
			checked = true
			name = name[1:] // " " or "*"
			text, result := "", "FAILED open or read"
			content, err := s.open(ctx, c, name)
			if err == nil {
				text, err = digest(content)
			}
			switch {
			case err == nil && text == want:
				result = "OK"
			case err == nil:
				result = "FAILED"
			}
			if result != "OK" {
				wrong++
			}
			if result != "OK" || !c.has("s") {
				fmt.Fprintf(c.Stdout, "%s: %s\n", name, result)
			}
			return true
		})
		if err == nil && !checked {
			empty = c.fail(1, "%s: no checksum lines found", list)
		}
		return err
	})
	if wrong > 0 {
		return c.fail(1, "WARNING: %d computed checksums did NOT match", wrong)
	}
	return max(code, empty)
}

// copyCounted copies, and counts what it copies as work.
func copyCounted(ctx context.Context, to io.Writer, from io.Reader) error {
	part := make([]byte, 32<<10)
	for {
		n, err := from.Read(part)
		if limited := limitsOf(ctx).do(n); limited != nil {
			return limited
		}
		if _, failed := to.Write(part[:n]); failed != nil {
			return failed
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// base64Program encodes its input or a file, in lines of 76 characters or as long as -w says, and decodes with -d.
func base64Program(ctx context.Context, s *Shell, c *Command) int {
	var names []string
	width, decode := 76, false
	args := flagReader{args: c.Args[1:], valued: "w"}
	for args.next() {
		switch args.name {
		case "":
			names = append(names, args.value())
		case "d", "D", "decode":
			decode = true
		case "w", "wrap":
			text := args.value()
			var err error
			if width, err = strconv.Atoi(text); err != nil || width < 0 {
				return c.fail(1, "invalid wrap size: '%s'", text)
			}
		default:
			return c.fail(1, "invalid option -- '%s'", args.name)
		}
	}
	if len(names) > 1 {
		return c.fail(1, "extra operand '%s'", names[1])
	}
	wrong := false
	code := c.inputs(ctx, s, names, func(_ string, in io.Reader) error {
		if decode {
			out := bufio.NewWriter(c.Stdout)
			err := copyCounted(ctx, out, base64.NewDecoder(base64.StdEncoding, in))
			if _, isCorrupt := err.(base64.CorruptInputError); isCorrupt || err == io.ErrUnexpectedEOF {
				wrong = true
			}
			_ = out.Flush()
			return err
		}
		wrapped := &wrapper{to: bufio.NewWriter(c.Stdout), width: width}
		encoder := base64.NewEncoder(base64.StdEncoding, wrapped)
		if err := copyCounted(ctx, encoder, in); err != nil {
			return err
		}
		if err := encoder.Close(); err != nil {
			return err
		}
		if wrapped.column > 0 && width > 0 {
			_ = wrapped.to.WriteByte('\n')
		}
		return wrapped.to.Flush()
	})
	if wrong {
		return c.fail(1, "invalid input")
	}
	return code
}

// wrapper breaks lines.
type wrapper struct {
	to            *bufio.Writer
	width, column int
}

// Write implements io.Writer.
func (w *wrapper) Write(data []byte) (int, error) {
	written := len(data)
	for len(data) > 0 {
		n := len(data)
		if w.width > 0 {
			n = min(n, w.width-w.column)
		}
		if _, err := w.to.Write(data[:n]); err != nil {
			return 0, err
		}
		data = data[n:]
		if w.column += n; w.column == w.width && w.width > 0 {
			if err := w.to.WriteByte('\n'); err != nil {
				return 0, err
			}
			w.column = 0
		}
	}
	return written, nil
}

// uname writes the system: -s its name, -n the hostname, -r the release of the kernel, -m the machine, -a all of them.
func uname(_ context.Context, s *Shell, c *Command) int {
	names, err := c.operands("snrvmoap")
	switch {
	case err != nil:
		return c.fail(1, "%v", err)
	case len(names) > 0:
		return c.fail(1, "extra operand '%s'", names[0])
	}
	var shown []string
	for _, part := range []struct{ flag, text string }{
		{"s", "Linux"}, {"n", s.Hostname}, {"r", kernel}, {"v", "#1 SMP"}, {"m", "x86_64"}, {"o", "GNU/Linux"},
	} {
		if c.has(part.flag) || c.has("a") || len(c.Args) == 1 && part.flag == "s" {
			shown = append(shown, part.text)
		}
	}
	fmt.Fprintln(c.Stdout, strings.Join(shown, " "))
	return 0
}

// kernel is the release of the kernel that nodes report.
const kernel = "6.12.0"

// mktemp makes a file with a name that is not taken, or a directory with -d. With -u it makes nothing.
func mktemp(_ context.Context, s *Shell, c *Command) int {
	template, directory, dry, temporary, folder := "", false, false, false, ""
	args := flagReader{args: c.Args[1:], valued: "p"}
	for args.next() {
		switch args.name {
		case "":
			template = args.value()
		case "d":
			directory = true
		case "p":
			folder = args.value()
		case "t":
			temporary = true
		case "u":
			dry = true
		case "q":
		default:
			return c.fail(1, "invalid option -- '%s'", args.name)
		}
	}
	if folder == "" && (temporary || template == "") {
		folder = "/tmp"
	}
	template = cmp.Or(template, "tmp.XXXXXXXXXX")
	prefix := strings.TrimRight(template, "X")
	missing := len(template) - len(prefix)
	if missing < 3 {
		return c.fail(1, "too few X's in template '%s'", template)
	}
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	seed := fnv.New64a()
	_, _ = io.WriteString(seed, s.Hostname+template)
	for try := range uint64(1000) { // names follow from the container, so that runs are alike
		random, drawn := rand.New(rand.NewPCG(seed.Sum64(), try)), make([]byte, missing)
		for i := range drawn {
			drawn[i] = letters[random.IntN(len(letters))]
		}
		name := prefix + string(drawn)
		if folder != "" && !path.IsAbs(name) {
			name = strings.TrimSuffix(folder, "/") + "/" + name
		}
		made := c.absolute(name)
		if _, err := fs.Lstat(s.Files, relative(made)); err == nil {
			continue
		}
		var err error
		switch {
		case dry:
		case directory:
			if err = s.Files.Mkdir(made); err == nil {
				err = s.Files.Chmod(made, fs.ModeDir|0o700)
			}
		default:
			err = s.Files.WriteFile(made, nil, 0o600)
		}
		if err != nil {
			return c.fail(1, "failed to create '%s': %s", name, reason(err))
		}
		fmt.Fprintln(c.Stdout, name)
		return 0
	}
	return c.fail(1, "failed to create a file from '%s'", template)
}
