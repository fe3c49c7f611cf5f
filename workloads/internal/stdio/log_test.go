package stdio_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

func read(t *testing.T, l *stdio.Log, o stdio.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := l.Copy(t.Context(), o, &out, &out); err != nil {
		t.Error(err)
	}
	return out.String()
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// TestALogIsReadByTheRulesOfAKubelet writes a log over three seconds, and reads parts of it.
func TestALogIsReadByTheRulesOfAKubelet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := stdio.NewLog()
		out, errs := l.Writer(stdio.Stdout), l.Writer(stdio.Stderr)
		fmt.Fprintf(out, "one\ntw")
		expect(t, "a line without an end waits", read(t, l, stdio.Options{Tail: -1, Bytes: -1}), "one\n")
		time.Sleep(time.Second)
		fmt.Fprint(errs, "oops\n")
		fmt.Fprint(out, "o\n")
		time.Sleep(time.Second)
		fmt.Fprint(out, "end")
		l.Close()
		fmt.Fprint(out, "lost\n")

		whole := stdio.Options{Tail: -1, Bytes: -1}
		expect(t, "all", read(t, l, whole), "one\noops\ntwo\nend")
		expect(t, "the end", l.End(6), "wo\nend")
		with := func(change func(*stdio.Options)) string {
			o := whole
			change(&o)
			return read(t, l, o)
		}
		expect(t, "tail", with(func(o *stdio.Options) { o.Tail = 2 }), "two\nend")
		expect(t, "tail of nothing", with(func(o *stdio.Options) { o.Tail = 0 }), "")
		expect(t, "since", with(func(o *stdio.Options) { o.Since = time.Now().Add(-time.Second) }), "oops\ntwo\nend")
		expect(t, "bytes", with(func(o *stdio.Options) { o.Bytes = 6 }), "one\noo")
		expect(t, "timestamps", with(func(o *stdio.Options) { o.Timestamps, o.Tail = true, 1 }), "2000-01-01T00:00:02.000000000Z end")
		var one bytes.Buffer
		if err := l.Copy(t.Context(), whole, nil, &one); err != nil {
			t.Error(err)
		}
		expect(t, "one stream", one.String(), "oops\n")
	})
}

// TestAFollowerGetsLinesUntilTheContainerExits also ends one with its context, and attaches to what is written.
func TestAFollowerGetsLinesUntilTheContainerExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := stdio.NewLog()
		w := l.Writer(stdio.Stdout)
		fmt.Fprint(w, "before\n")
		var followed, left, attached bytes.Buffer
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan error, 3)
		follow := stdio.Options{Follow: true, Tail: -1, Bytes: -1}
		attach := l.Attach()
		go func() { ended <- l.Copy(t.Context(), follow, &followed, &followed) }()
		go func() { ended <- attach(t.Context(), &attached, nil) }()
		go func() { ended <- l.Copy(ctx, follow, &left, &left) }()
		synctest.Wait()
		fmt.Fprint(w, "a\nb")
		synctest.Wait()
		expect(t, "a line without an end is not there yet", followed.String(), "before\na\n")
		expect(t, "except for those who are attached", attached.String(), "a\nb")
		leave()
		if err := <-ended; err != context.Canceled {
			t.Errorf("the one that left: %v", err)
		}
		l.Close()
		if err := errorsOf(ended); err != nil {
			t.Error(err)
		}
		expect(t, "the follower", followed.String(), "before\na\nb")
		expect(t, "the one that left", left.String(), "before\na\n")
	})
}

func errorsOf(ended chan error) error {
	if err := <-ended; err != nil {
		return err
	}
	return <-ended
}

// TestALogIsBounded drops the oldest lines, and cuts lines that are too long.
func TestALogIsBounded(t *testing.T) {
	l := stdio.NewLog()
	w := l.Writer(stdio.Stdout)
	fmt.Fprint(w, strings.Repeat("x", 20<<10))
	if got := len(read(t, l, stdio.Options{Tail: -1, Bytes: -1})); got != 16<<10 {
		t.Errorf("of a line without an end, %d bytes are there", got)
	}
	fmt.Fprint(w, strings.Repeat("x", 40<<20)) // its time must not grow with the square
	if got := len(read(t, l, stdio.Options{Tail: -1, Bytes: -1})); got != 10<<20 {
		t.Errorf("of a longer line without an end, %d bytes are there", got)
	}
	fmt.Fprint(w, "\n")
	for i := range 11 << 10 {
		fmt.Fprintf(w, "%01023d\n", i)
	}
	whole := read(t, l, stdio.Options{Tail: -1, Bytes: -1})
	if want := 10 << 20; len(whole) != want || !strings.HasSuffix(whole, fmt.Sprintf("%d\n", 11<<10-1)) {
		t.Errorf("%d bytes are left, want %d; the last line is %q", len(whole), want, whole[len(whole)-9:])
	}
}
