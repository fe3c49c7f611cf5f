package view

import (
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Text returns the JSON of a stored object in a version.
func Text(v *resource.Version, record store.Record) (string, error) {
	if text, ok := Stored(v, record); ok {
		return text, nil
	}
	return converted(v, record)
}

// Fresh is Text, but always converts, as a real server does without its cache.
func Fresh(v *resource.Version, record store.Record) (string, error) {
	if v.Conversions == nil || v.Shows(record) {
		return Text(v, record)
	}
	return converted(v, record)
}

func converted(v *resource.Version, record store.Record) (string, error) {
	obj, err := v.Codec.DecodeStored(record)
	if err != nil {
		return "", err
	}
	text, err := v.Codec.Encode(obj)
	return string(text), err
}

// Stored returns the same as Text if it takes no decoding: an object that was written in the version, under its current
// schema, is shown as it is stored.
func Stored(v *resource.Version, record store.Record) (text string, ok bool) {
	if v.Shows(record) {
		return record.Value, true
	}
	return v.Codec.View(record)
}

// Receiver takes the records of a page, one after the other.
type Receiver interface {
	// Expect announces the number of records that follow.
	Expect(n int)
	Add(record store.Record)
}

// Records is a Receiver that keeps the records as they are.
type Records []store.Record

// Expect implements Receiver.
func (r *Records) Expect(n int) { *r = slices.Grow(*r, n) }

// Add implements Receiver.
func (r *Records) Add(record store.Record) { *r = append(*r, record) }

// Texts is a Receiver that returns the Text of each record. It converts all records of a list in one call of a webhook.
// A real server makes a call for each record; Texts does so only if the one call fails, to find the objects that cannot
// be converted.
type Texts struct {
	version *resource.Version
	texts   []string
	others  []store.Record // records to decode
	places  []int          // of others among the texts
	fresh   bool           // converts again what was converted before
}

// NewTexts returns Texts for a version.
func NewTexts(v *resource.Version) *Texts { return &Texts{version: v} }

// NewFreshTexts returns Texts that always converts, as a real server does without its cache.
func NewFreshTexts(v *resource.Version) *Texts {
	return &Texts{version: v, fresh: v.Conversions != nil}
}

// Expect implements Receiver.
func (t *Texts) Expect(n int) { t.texts = slices.Grow(t.texts, n) }

// Add implements Receiver.
func (t *Texts) Add(record store.Record) {
	text, ok := record.Value, t.version.Shows(record)
	if !ok && !t.fresh {
		text, ok = Stored(t.version, record)
	}
	if !ok {
		t.others, t.places = append(t.others, record), append(t.places, len(t.texts))
	}
	t.texts = append(t.texts, text)
}

// Left returns the bytes of the records that All has to decode.
func (t *Texts) Left() (size int) {
	for _, record := range t.others {
		size += len(record.Value)
	}
	return size
}

// All returns the texts in the order in which the records were added.
func (t *Texts) All() ([]string, error) {
	if len(t.others) == 0 {
		return t.texts, nil
	}
	objects, err := t.version.Codec.DecodeAllStored(t.others)
	if err != nil {
		if objects, err = decodeEach(t.version, t.others); err != nil {
			return nil, err
		}
	}
	for n, obj := range objects {
		text, err := t.version.Codec.Encode(obj)
		if err != nil {
			return nil, err
		}
		t.texts[t.places[n]] = string(text)
	}
	t.others, t.places = nil, nil
	return t.texts, nil
}

// WithResourceVersion returns the JSON of an object with its resourceVersion replaced by a revision. It returns JSON
// without a resourceVersion as it is.
func WithResourceVersion(text string, revision int64) string {
	version := gjson.Get(text, "metadata.resourceVersion")
	if version.Index == 0 {
		return text
	}
	return text[:version.Index] + `"` + formatRevision(revision) + `"` + text[version.Index+len(version.Raw):]
}

func formatRevision(revision int64) string { return strconv.FormatInt(revision, 10) }
