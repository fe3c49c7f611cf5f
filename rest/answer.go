package rest

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/fakecluster/fakecluster/internal/view"
)

// negotiate settles the form of the answer.
func (r *request) negotiate() (view.Form, error) {
	accept := r.Header.Get("Accept")
	usual := accept == "" || accept == runtime.ContentTypeJSON || accept == runtime.ContentTypeJSON+", */*"
	if usual && !asksForPretty(r.Request) {
		return view.Form{Accepted: r.viewed().Serializer.SupportedMediaTypes()[0], Plain: true}, nil
	}
	media, info, err := negotiation.NegotiateOutputMediaType(r.Request, r.viewed().Serializer, r.viewed())
	if err != nil {
		if r.viewed().Typed && r.projection() == nil {
			err = unacceptable(r.info.Verb)
		}
		return view.Form{}, err
	}
	f := view.Form{Accepted: media.Accepted, Convert: media.Convert}
	f.Pretty = info.MediaType == runtime.ContentTypeJSON && info.Serializer == info.PrettySerializer
	f.Plain = info.MediaType == runtime.ContentTypeJSON && media.Convert == nil && !f.Pretty
	return f, nil
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

// view shows objects as the client asked for them. It is made when there is something to
// show: what is wrong with the options of a Table is found out after the object is read.
func (r *request) view() (*view.View, error) {
	var options *metav1.TableOptions
	if target := r.output.Convert; target != nil && target.Kind == "Table" {
		options = &metav1.TableOptions{}
		if err := r.parseQuery(options); err != nil {
			return nil, err
		}
	}
	return view.New(r.viewed(), r.output, options)
}

// answer writes one object of the requested version, given as JSON.
func (r *request) answer(code int, text string) error {
	tellObject(r.w, text)
	v, err := r.view()
	if err != nil {
		return err
	}
	content, err := v.Object(r.ctx, text)
	if err != nil {
		return err
	}
	r.writeContent(code, content)
	return nil
}

// answerList writes a list of objects of the requested version, given as JSON.
func (r *request) answerList(p view.Page, items []string) error {
	v, err := r.view()
	if err != nil {
		return err
	}
	content, err := v.List(r.ctx, p, items)
	if err != nil {
		return err
	}
	r.writeContent(http.StatusOK, content)
	return nil
}

// gzipThreshold is the size from which answers are compressed for clients that
// accept it.
const gzipThreshold = 128 * 1024

// chunk is how much of an answer is joined before it is written: what takes the
// writes, a socket or a client in this process, takes few large ones much faster.
const chunk = 128 * 1024

// writeContent writes the header and the body of an answer.
func (r *request) writeContent(code int, content view.Content) {
	header := r.w.Header()
	header.Set("Content-Type", content.MediaType)
	var body io.Writer = r.w
	if content.Size > gzipThreshold && acceptsGzip(r.Request) {
		header.Set("Content-Encoding", "gzip")
		header.Add("Vary", "Accept-Encoding")
		z, err := gzip.NewWriterLevel(r.w, gzip.BestSpeed)
		if err != nil {
			panic(err) // the level is a constant
		}
		defer func() { _ = z.Close() }()
		body = z
	} else {
		header.Set("Content-Length", strconv.Itoa(content.Size))
	}
	r.w.WriteHeader(code)
	joined := bufio.NewWriterSize(body, min(content.Size, chunk))
	for p := range content.Pieces {
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
