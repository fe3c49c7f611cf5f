package resource

import "fmt"

// CorruptError says that an object of the store cannot be read: what converts it to the version
// that is asked for fails, or answers what it may not. A real server calls such an object
// corrupt, although a conversion webhook that works again mends it.
type CorruptError struct {
	// Revision is that of the object.
	Revision int64
	Err      error
}

// Error implements error, in the words of a real server.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("object not decodable revision=%d: %v", e.Revision, e.Err)
}
