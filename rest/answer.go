package rest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// output is the form in which the client wants its answer.
type output struct {
	negotiation.MediaTypeOptions
	// plain is JSON as it is stored: nothing to do but to copy it.
	plain bool
	// pretty JSON has line breaks.
	pretty bool
}

// negotiate settles the form of the answer.
func (r *request) negotiate() (output, error) {
	accept := r.Header.Get("Accept")
	usual := accept == "" || accept == runtime.ContentTypeJSON || accept == runtime.ContentTypeJSON+", */*"
	if usual && !asksForPretty(r.Request) {
		return output{MediaTypeOptions: negotiation.MediaTypeOptions{Accepted: r.viewed().Serializer.SupportedMediaTypes()[0]}, plain: true}, nil
	}
	media, info, err := negotiation.NegotiateOutputMediaType(r.Request, r.viewed().Serializer, r.viewed())
	if err != nil {
		if r.viewed().Typed && r.projection() == nil {
			err = unacceptable(r.info.Verb)
		}
		return output{}, err
	}
	o := output{MediaTypeOptions: media}
	o.pretty = info.MediaType == runtime.ContentTypeJSON && info.Serializer == info.PrettySerializer
	o.plain = info.MediaType == runtime.ContentTypeJSON && media.Convert == nil && !o.pretty
	return o, nil
}

// unacceptable is the refusal of built-in resources, whose routes know media
// types of their own.
func unacceptable(verb string) error {
	types := "application/json, application/yaml, application/vnd.kubernetes.protobuf"
	if verb == "list" || verb == "watch" {
		types += ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
	}
	return apierrors.NewGenericServerResponse(http.StatusNotAcceptable, "", schema.GroupResource{}, "",
		"406: Not Acceptable\n\nAvailable representations: "+types, 0, false)
}

// asksForPretty tells whether the answer might have to be pretty: by its query
// or by a client that a person looks at.
func asksForPretty(req *http.Request) bool {
	if strings.Contains(req.URL.RawQuery, "pretty") {
		return true
	}
	agent := req.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

// view is the JSON of a stored object in a version.
func view(v *resource.Version, record store.Record) (string, error) {
	if text, ok := viewOf(v, record); ok {
		return text, nil
	}
	obj, err := v.Codec.DecodeStored(record)
	if err != nil {
		return "", err
	}
	text, err := v.Codec.Encode(obj)
	return string(text), err
}

// viewOf is the JSON of a stored object in a version, if there is no need to
// decode it. If the object was written in that version, under the present schema,
// it is what is stored.
func viewOf(v *resource.Version, record store.Record) (string, bool) {
	if record.Tag == v.Identity {
		return record.Value, true
	}
	return v.Codec.View(record)
}

// items are the JSON of several stored objects in a version. Those that need to be
// converted are converted together, once all are there.
type items struct {
	version *resource.Version
	texts   []string
	others  []store.Record
	places  []int // of others among the texts
}

func (s *items) expect(n int) { s.texts = slices.Grow(s.texts, n) }

func (s *items) add(record store.Record) {
	if text, ok := viewOf(s.version, record); ok {
		s.texts = append(s.texts, text)
		return
	}
	s.others, s.places = append(s.others, record), append(s.places, len(s.texts))
	s.texts = append(s.texts, "")
}

// all are the items in the order in which they were added.
func (s *items) all() ([]string, error) {
	if len(s.others) == 0 {
		return s.texts, nil
	}
	objects, err := s.version.Codec.DecodeAllStored(s.others)
	if err != nil {
		return nil, err
	}
	for n, obj := range objects {
		text, err := s.version.Codec.Encode(obj)
		if err != nil {
			return nil, err
		}
		s.texts[s.places[n]] = string(text)
	}
	s.others, s.places = nil, nil
	return s.texts, nil
}

// answer writes one object of the requested version.
func (r *request) answer(code int, text string) error {
	tellObject(r.w, text)
	if r.output.plain {
		r.writeText(code, runtime.ContentTypeJSON, text, "\n")
		return nil
	}
	if t, err := r.transformer(); t != nil || err != nil {
		if err != nil {
			return err
		}
		obj, err := t.one(text)
		if err != nil {
			return err
		}
		return r.answerTransformed(code, t, obj)
	}
	switch r.output.Accepted.MediaType {
	case runtime.ContentTypeYAML:
		out, err := yaml.JSONToYAML([]byte(text))
		if err != nil {
			return err
		}
		r.writeText(code, runtime.ContentTypeYAML, string(out))
	case runtime.ContentTypeJSON:
		var b bytes.Buffer
		if err := json.Indent(&b, []byte(text), "", "  "); err != nil {
			return err
		}
		r.writeText(code, runtime.ContentTypeJSON, b.String())
	default:
		obj, err := decodeAs(r.viewed(), text)
		if err != nil {
			return fmt.Errorf("reading the answer back: %w", err)
		}
		out, err := runtime.Encode(r.viewed().Serializer.EncoderForVersion(r.output.Accepted.Serializer, r.viewed().GroupVersion()), obj)
		if err != nil {
			return err
		}
		r.writeText(code, r.output.Accepted.MediaType, string(out))
	}
	return nil
}

// answerTransformed writes what a transformer made.
func (r *request) answerTransformed(code int, t *transformer, obj runtime.Object) error {
	out, err := t.encode(obj)
	if err != nil {
		return err
	}
	r.writeText(code, r.output.Accepted.MediaType, string(out))
	return nil
}

// gzipThreshold is the size from which answers are compressed for clients that
// accept it.
const gzipThreshold = 128 * 1024

// writeText writes an answer.
func (r *request) writeText(code int, mediaType string, parts ...string) {
	r.writePieces(code, mediaType, sizeOf(parts), slices.Values(parts))
}

func sizeOf(parts []string) int {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	return size
}

// chunk is how much of an answer is joined before it is written: what takes the
// writes, a socket or a client in this process, takes few large ones much faster.
const chunk = 128 * 1024

// writePieces writes an answer that comes in pieces, of the given size together.
func (r *request) writePieces(code int, mediaType string, size int, pieces iter.Seq[string]) {
	header := r.w.Header()
	header.Set("Content-Type", mediaType)
	var body io.Writer = r.w
	if size > gzipThreshold && acceptsGzip(r.Request) {
		header.Set("Content-Encoding", "gzip")
		header.Add("Vary", "Accept-Encoding")
		z, err := gzip.NewWriterLevel(r.w, gzip.BestSpeed)
		if err != nil {
			panic(err) // the level is a constant
		}
		defer func() { _ = z.Close() }()
		body = z
	} else {
		header.Set("Content-Length", strconv.Itoa(size))
	}
	r.w.WriteHeader(code)
	joined := bufio.NewWriterSize(body, min(size, chunk))
	for p := range pieces {
		if _, err := joined.WriteString(p); err != nil {
			return // the client has gone
		}
	}
	_ = joined.Flush()
}

func acceptsGzip(req *http.Request) bool {
	for encoding := range strings.SplitSeq(req.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(encoding) == "gzip" {
			return true
		}
	}
	return false
}
