package write

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/fakecluster/fakecluster/store"
)

// The error for a client when the data file rejects a write has the system's words or etcd's, and no path.
func TestClientsGetTheReasonOfTheFile(t *testing.T) {
	other := errors.New("something else")
	for _, c := range []struct {
		err  error
		want string
	}{
		{&store.FileError{Path: "/secret", Err: syscall.ENOSPC}, "etcdserver: mvcc: database space exceeded"},
		{fmt.Errorf("wrapped: %w", &store.FileError{Path: "/secret", Err: syscall.EFBIG}), "etcdserver: mvcc: database space exceeded"},
		{&store.FileError{Path: "/secret", Err: syscall.EIO, Final: true}, "fakecluster cannot write to its data file: input/output error"},
		{other, "something else"},
	} {
		got := keeping(c.err)
		if got.Error() != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
	if err := keeping(nil); err != nil {
		t.Error(err)
	}
}
