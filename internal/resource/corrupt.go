package resource

import "fmt"

// CorruptError says that a stored object cannot be read, because its conversion to the
// requested version fails or gives an invalid result. A real server calls such an object
// corrupt, although the object is readable again once its conversion webhook works.
type CorruptError struct {
	// Revision is that of the object.
	Revision int64
	Err      error
}

// Error implements error, in the words of a real server.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("object not decodable revision=%d: %v", e.Revision, e.Err)
}

// Unwrap returns the reason.
func (e *CorruptError) Unwrap() error { return e.Err }
