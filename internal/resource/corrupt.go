package resource

import (
	"fmt"

	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// CorruptError is the error for a stored object that cannot be read, because its conversion to the requested version
// fails or returns an invalid result. A real server calls such an object corrupt, although it can be read again once its
// conversion webhook works.
type CorruptError struct {
	// Revision is the revision of the object.
	Revision int64
	Err      error
}

// ReportsCorrupt reports whether errors say that an object is corrupt, and clients may delete it unread. A server before
// 1.37 returns only the reason.
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
