package shell

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"strconv"
)

// base64Program encodes its input or a file, in lines of 76 characters or of the length of -w, and decodes with -d.
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
