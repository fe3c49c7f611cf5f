package store

import (
	"errors"
	"testing"
)

func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		`key "k": not found`:                                 &NotFoundError{Key: "k"},
		`key "k": exists since revision 3`:                   &ExistsError{Key: "k", Current: Record{Revision: 4, Created: 3}},
		`key "k": is at revision 4, the write expected 3`:    &ConflictError{Key: "k", Current: Record{Revision: 4}, Expected: 3},
		`key "k": is at revision 4, the write requires 0`:    &PreconditionError{Key: "k", Current: 4},
		`revision 3 has been forgotten, history begins at 4`: &CompactedError{Requested: 3, Oldest: 4},
		`revision 5 is in the future; the newest is 4`:       &FutureError{Requested: 5, Current: 4},
	} {
		equal(t, "message", err.Error(), want)
	}
	if !errors.Is(&NotFoundError{Key: "k"}, ErrNotFound) {
		t.Error("a NotFoundError is not ErrNotFound")
	}
}
