package rest

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/view"
)

// view makes the View that shows objects in the form that the client requests. As on a real server,
// this comes after the object has been read, so that errors in the options of a Table come
// last.
func (r *request) view() (*view.View, error) {
	var options *metav1.TableOptions
	if target := r.form.Convert; target != nil && target.Kind == "Table" {
		options = &metav1.TableOptions{}
		if err := r.parseQuery(options); err != nil {
			return nil, err
		}
	}
	return view.New(r.viewed(), r.form, options)
}

// answer writes one object of the requested version, given as JSON.
func (r *request) answer(code int, text string) error { return r.answerObject(code, text, nil) }

// answerObject is answer for an object that is also there in the hub version, unless stored is nil.
func (r *request) answerObject(code int, text string, stored runtime.Object) error {
	v, err := r.view()
	if err != nil {
		return err
	}
	content := func(v *view.View) (view.Content, error) { return v.Object(r.ctx, text, stored) }
	if r.isLarge(len(text)) {
		content = func(v *view.View) (view.Content, error) {
			return compute(r, func() (view.Content, error) { return v.Object(r.ctx, text, stored) })
		}
	}
	return r.show(code, v, content)
}

// answerList writes a list of objects of the requested version, given as JSON.
func (r *request) answerList(p view.Page, items []string) error {
	v, err := r.view()
	if err != nil {
		return err
	}
	size := 0
	for _, item := range items {
		size += len(item)
	}
	content := func(v *view.View) (view.Content, error) { return v.List(r.ctx, p, items) }
	if r.isLarge(size) {
		content = func(v *view.View) (view.Content, error) {
			return compute(r, func() (view.Content, error) { return v.List(r.ctx, p, items) })
		}
	}
	return r.show(http.StatusOK, v, content)
}

// show writes what a view makes of the objects of an answer. The event of the request has it in JSON,
// whatever the client accepts.
func (r *request) show(code int, v *view.View, show func(*view.View) (view.Content, error)) error {
	content, err := show(v)
	if err != nil {
		return err
	}
	if a := answerFrom(r.ctx); a.hasObject() {
		inJSON := content
		if content.MediaType != runtime.ContentTypeJSON {
			if inJSON, err = show(v.InJSON()); err != nil {
				return err
			}
		}
		a.object = strings.TrimSuffix(inJSON.Text(), "\n")
	}
	r.writeContent(code, content)
	return nil
}

// gzipThreshold is the size from which answers are compressed for clients that
// accept it.
const gzipThreshold = 128 * 1024

// writeContent writes the header and the body of an answer.
func (r *request) writeContent(code int, content view.Content) {
	header := r.w.Header()
	header.Set("Content-Type", content.MediaType)
	var body io.Writer = r.w
	if content.Size > gzipThreshold && acceptsGzip(r.http) {
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
	joined := r.handler.buffers.writer(body, content.Size)
	defer r.handler.buffers.done(joined)
	if err := content.WriteInto(joined); err == nil {
		_ = joined.Flush() // it fails if the client has gone
	}
}

func acceptsGzip(req *http.Request) bool {
	for encoding := range strings.SplitSeq(req.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(encoding) == "gzip" {
			return true
		}
	}
	return false
}
