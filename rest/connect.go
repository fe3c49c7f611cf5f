package rest

import (
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
)

// connection returns the connection of the requested subresource, or nil.
func (r *request) connection() *resource.Connection {
	if s := r.version.Subresource[r.info.Subresource]; s != nil {
		return s.Connection
	}
	return nil
}

// connect serves a connection, such as the log of a pod or an attempt to exec.
func connect(r *request) error {
	connection := r.connection()
	query := r.http.URL.Query()
	if connection.View != nil && query.Has("dryRun") {
		return apierrors.NewBadRequest("dryRun is not supported")
	}
	options, err := connection.Options(query, r.pathBehind())
	if err != nil {
		return err
	}
	if connection.View != nil {
		if err := r.writes.Connect(r.ctx, r.write(nil, write.Options{}), connection.View, options); err != nil {
			return err
		}
	}
	text, err := connection.Connect(r.ctx, r.info.Name, options, httpstream.IsUpgradeRequest(r.http))
	if err != nil {
		return err
	}
	if text == "" {
		r.w.WriteHeader(http.StatusNoContent) // as a real server answers where there is nothing to stream
		return nil
	}
	r.w.Header().Set("Content-Type", "text/plain")
	r.w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(r.w, text) // the client may have gone
	return nil
}

// pathBehind returns the path behind the subresource. It is empty or begins with a slash.
func (r *request) pathBehind() string {
	path := ""
	if len(r.info.Parts) > 3 {
		path = "/" + strings.Join(r.info.Parts[3:], "/")
	}
	if strings.HasSuffix(r.http.URL.Path, "/") && !strings.HasSuffix(path, "/") {
		path += "/"
	}
	return path
}
