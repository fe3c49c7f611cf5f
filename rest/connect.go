package rest

import (
	"io"
	"net/http"
	"strings"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
)

// connection is what the subresource of the request connects with, or nil.
func (r *request) connection() *resource.Connection {
	if s := r.version.Subresource[r.info.Subresource]; s != nil {
		return s.Connection
	}
	return nil
}

// connect answers what the connection has to say. Any method may ask for it.
func connect(r *request) error {
	connection := r.connection()
	options, err := connection.Options(r.http.URL.Query(), strings.Join(r.info.Parts[min(3, len(r.info.Parts)):], "/"))
	if err != nil {
		return err
	}
	if connection.View != nil {
		if err := r.writes.Connect(r.ctx, r.write(nil, write.Options{}), connection.View, options); err != nil {
			return err
		}
	}
	text, err := connection.Connect(r.ctx, r.info.Name, options)
	if err != nil {
		return err
	}
	r.w.Header().Set("Content-Type", "text/plain")
	r.w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(r.w, text) // the client may have gone
	return nil
}
