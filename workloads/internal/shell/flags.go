package shell

import (
	"slices"
	"strings"
)

// flagReader reads flags such as -qO- and --timeout=5, and other arguments, whose name is empty.
type flagReader struct {
	args   []string
	valued string // the short flags with a value
	name   string

	short string // the rest of -abc
	given *string
	ended bool // after --, where no flags follow
}

func (r *flagReader) next() bool {
	r.given = nil
	if r.short != "" {
		return r.take()
	}
	if len(r.args) == 0 {
		return false
	}
	if r.args[0] == "--" && !r.ended {
		r.ended, r.args = true, r.args[1:]
		return r.next()
	}
	a := r.args[0]
	switch {
	case r.ended:
		r.name = ""
	case strings.HasPrefix(a, "--"):
		r.args = r.args[1:]
		name, value, ok := strings.Cut(a[2:], "=")
		if r.name = name; ok {
			r.given = &value
		}
	case strings.HasPrefix(a, "-") && len(a) > 1:
		r.args = r.args[1:]
		r.short = a[1:]
		return r.take()
	default:
		r.name = ""
	}
	return true
}

// take takes the next letter of short flags.
func (r *flagReader) take() bool {
	r.name, r.short = r.short[:1], r.short[1:]
	if strings.Contains(r.valued, r.name) && r.short != "" {
		value := r.short
		r.given, r.short = &value, ""
	}
	return true
}

// value returns the value of the flag, or the argument that is not a flag.
func (r *flagReader) value() string {
	if r.given != nil {
		return *r.given
	}
	if len(r.args) == 0 {
		return ""
	}
	value := r.args[0]
	r.args = slices.Delete(slices.Clone(r.args), 0, 1)
	return value
}
