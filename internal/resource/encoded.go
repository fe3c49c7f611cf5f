package resource

import (
	"strings"

	"github.com/fakecluster/fakecluster/store"
)

// Encoded is an object as it goes to the store.
type Encoded struct {
	Text []byte
	// Stored is what DecodeStored would make of the text, apart from the resourceVersion: the
	// object itself or a copy. If it has no object, only decoding the text shows it.
	Stored Decoded
	// Filled says that reading changes what a real server has stored: the text has defaults which the object
	// lacks, or lacks unknown fields which the object has. See Version.Tag.
	Filled bool
}

// filledMark is the end of the tag of a record whose text was filled.
const filledMark = "+"

// Tag returns the tag of a record with an object that was encoded in this version.
//
// A real server stores an object as its strategy leaves it, and fills in defaults whenever it reads
// the object. A strategy may clear a field that has a default: the phase of a new
// PersistentVolumeClaim. If an update then changes nothing, what the server has read differs from
// the bytes in etcd, and it writes a new revision. Here the text has the defaults from the beginning,
// so the tag says that they were missing. Two records with one text and one tag are the same bytes
// on a real server.
func (v *Version) Tag(filled bool) string {
	if filled {
		return v.Identity + filledMark
	}
	return v.Identity
}

// Filled reports whether the tag of a record says that its text was filled.
func Filled(record store.Record) bool { return strings.HasSuffix(record.Tag, filledMark) }

// IdentityOf returns the Identity of the version that a record was written in.
func IdentityOf(record store.Record) string { return strings.TrimSuffix(record.Tag, filledMark) }

// Shows reports whether the bytes of a record are what the version shows.
func (v *Version) Shows(record store.Record) bool { return IdentityOf(record) == v.Identity }
