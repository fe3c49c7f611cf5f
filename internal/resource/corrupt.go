package resource

import (
	"fmt"

	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// CorruptError says that a stored object cannot be read, because its conversion to the
// requested version fails or gives an invalid result. A real server calls such an object
// corrupt, although the object is readable again once its conversion webhook works.
type CorruptError struct {
	// Revision is that of the object.
	Revision int64
	Err      error
}

// ReportsCorrupt reports whether clients are told that an object is corrupt, and may delete it unread. A
// server before 1.37 tells them only why it cannot read the object.
func ReportsCorrupt() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.AllowUnsafeMalformedObjectDeletion)
}

// Error implements error, in the words of a real server.
func (e *CorruptError) Error() string {
	if !ReportsCorrupt() {
		return e.Err.Error()
	}
	return fmt.Sprintf("object not decodable revision=%d: %v", e.Revision, e.Err)
}

// Unwrap returns the reason.
func (e *CorruptError) Unwrap() error { return e.Err }
