package resource

import (
	"strings"

	"github.com/fakecluster/fakecluster/store"
)

// Encoded is an object encoded for the store.
type Encoded struct {
	Text string
	// Stored is what DecodeStored returns for the text, apart from the resourceVersion: the object itself or a copy. It
	// has no object if the text must be decoded.
	Stored Decoded
	// Filled: a real server has stored other bytes: the text has defaults that the object lacks, or lacks unknown fields
	// that the object has. See Version.Tag.
	Filled bool
}

// filledMark is the suffix of the tag of a record with Encoded.Filled.
const filledMark = "+"

// Tag returns the tag for a record with an object that was encoded in this version.
//
// A real server stores an object as its strategy leaves it, and fills in defaults on each read. A strategy may clear a
// field that has a default, such as the phase of a new PersistentVolumeClaim. An update without changes then differs
// from the bytes in etcd, and the server writes a new revision. Here the text always has the defaults, and the tag
// records that they were missing. Two records with the same text and tag have the same bytes on a real server.
func (v *Version) Tag(filled bool) string {
	if filled {
		return v.Identity + filledMark
	}
	return v.Identity
}

// Filled reports whether a record was encoded with Encoded.Filled.
func Filled(record store.Record) bool { return strings.HasSuffix(record.Tag, filledMark) }

// IdentityOf returns the Identity of the version in which a record was written.
func IdentityOf(record store.Record) string { return strings.TrimSuffix(record.Tag, filledMark) }

// Shows reports whether the bytes of a record are the object in this version.
func (v *Version) Shows(record store.Record) bool { return IdentityOf(record) == v.Identity }
