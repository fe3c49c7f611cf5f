package shell

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"path"
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

// copyCounted copies, and counts the bytes as work.
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
