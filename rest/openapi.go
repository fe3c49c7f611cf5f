package rest

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/openapi"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// openAPI makes the OpenAPI documents of registries. It keeps the last ones, because the next
// ones share parts with them.
type openAPI struct {
	last atomic.Pointer[documents]
}

// documents are the OpenAPI documents of one registry.
type documents struct {
	*openapi.Documents
	built sync.Map // openAPIForm: true
}

// openAPIForm is a document in one of the forms that are made from it once.
type openAPIForm struct {
	path           string
	protobuf, gzip bool
}

// documentsOf returns the documents of a registry: the same for all that ask at the same time.
func (o *openAPI) documentsOf(c *resource.Registry) *documents {
	for {
		before := o.last.Load()
		var former *openapi.Documents
		if before != nil {
			if former = before.Documents; former.IsFor(c) {
				return before
			}
		}
		next := &documents{Documents: openapi.New(c, former, builtin.OpenAPITypes)}
		if o.last.CompareAndSwap(before, next) {
			return next
		}
	}
}

// serveOpenAPI answers with a document. With a thousand definitions, upstream's code takes minutes to build
// it, and cannot be interrupted. So a goroutine of its own builds the document, once for all requests that
// wait for it, and the document is sent afterwards.
func (p paths) serveOpenAPI(w http.ResponseWriter, req *http.Request, c *resource.Registry) {
	d := p.openAPI.documentsOf(c)
	form := openAPIForm{
		path: req.URL.Path, protobuf: strings.Contains(req.Header.Get("Accept"), "protobuf"), gzip: strings.Contains(req.Header.Get("Accept-Encoding"), "gzip"),
	}
	if _, built := d.built.Load(form); !built && d.Builds(req.URL.Path) {
		r := &request{http: req, ctx: req.Context(), info: infoOf(req), handler: p.handler}
		_, err := compute(r, func() (struct{}, error) {
			d.ServeHTTP(&unread{header: http.Header{}}, req)
			d.built.Store(form, true)
			return struct{}{}, nil
		})
		if err != nil {
			writeError(w, req, orTimeout(req.Context(), err))
			return
		}
	}
	p.cluster.Aggregate.ServeOpenAPI(w, req, d.Documents)
}

// unread is a response that nobody reads.
type unread struct{ header http.Header }

// Header implements http.ResponseWriter.
func (d *unread) Header() http.Header { return d.header }

// Write implements http.ResponseWriter.
func (d *unread) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (d *unread) WriteHeader(int) {}
