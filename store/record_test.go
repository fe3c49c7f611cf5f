package store

import (
	"math"
	"testing"
)

func FuzzRecordEncoding(f *testing.F) {
	f.Add("/a/1", "value", "v1", "a=b", int64(2), int64(5))
	f.Add("", "", "", "", int64(0), int64(0))
	f.Add("k\x00\xff", "\x80", "\x80\x80", "\x80\x80\x80", int64(1), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, key, value, tag, index string, created, revision int64) {
		if created < 0 || revision < created {
			t.Skip("no record is older than its creation")
		}
		want := Record{Key: key, Value: value, Tag: tag, Index: index, Revision: revision, Created: created}
		encoded := item{key: key, encoded: encode(want)}
		equal(t, "record", encoded.record(), want)
		equal(t, "index", encoded.index(), index)
	})
}

// What encode has not made is refused by a panic, never read out of bounds.
func FuzzRecordDecoding(f *testing.F) {
	f.Add(encode(Record{Value: "value", Tag: "tag", Index: "index", Revision: 300, Created: 2}))
	f.Add("")
	f.Add("\x01\x01\x09\x00tag")
	f.Add("\x01\x01\x02\x09tag")
	f.Add("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
	f.Fuzz(func(t *testing.T, encoded string) {
		defer func() {
			if p := recover(); p != nil && p != errEncoding {
				t.Errorf("panic: %v", p)
			}
		}()
		decode("", encoded)
	})
}
