package rest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// errUnknownPath is the answer to a path that nothing serves, as text.
var errUnknownPath = errors.New("404 page not found")

// unknownPath is the answer to a path of a group that names nothing.
func unknownPath(routing resource.Routing) error {
	if routing == resource.OneHandler {
		return errUnknownPath
	}
	return refusal(http.StatusNotFound, "404: Page Not Found")
}

// unknownMethod is the answer to a method that a path does not have.
func unknownMethod() error { return refusal(http.StatusMethodNotAllowed, "405: Method Not Allowed") }

// unknownVerb is the answer to a verb that the resource or subresource does not have.
func unknownVerb(r *request) error {
	if res := r.version.Resource; res.Routing == resource.OneHandler {
		return apierrors.NewMethodNotSupported(res.GroupResource(), r.info.Verb)
	}
	return unknownMethod()
}

// unknownMediaType is the answer to a client that accepts no media type of the resource; err
// is the answer of a handler. A real server routes requests to built-in kinds by their media
// types without parameters. If no route matches, no handler is called. A Table in protobuf,
// for example, has a route, and the handler refuses it.
func unknownMediaType(r *request, err error) error {
	if r.version.Resource.Routing == resource.OneHandler || r.projection() != nil {
		return err
	}
	types := []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf}
	if accepts(r.http, types...) {
		return err
	}
	if r.info.Verb == "list" || r.info.Verb == "watch" {
		types = append(types, "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
	}
	return notAvailable(types...)
}

// accepts reports whether a route of the given media types answers the client. A client that names
// none takes any.
func accepts(req *http.Request, types ...string) bool {
	accept := req.Header.Get("Accept")
	for accepted := range strings.SplitSeq(accept, ",") {
		mediaType, _, _ := strings.Cut(accepted, ";")
		if mediaType = strings.TrimSpace(mediaType); mediaType == "*/*" || slices.Contains(types, mediaType) {
			return true
		}
	}
	return accept == ""
}

// notAvailable is the answer to a client that accepts none of the media types of a route.
func notAvailable(types ...string) error {
	return refusal(http.StatusNotAcceptable, "406: Not Acceptable\n\nAvailable representations: "+strings.Join(types, ", "))
}

// notServed is the answer for what a real server serves and this one does not; missing says
// why.
func notServed(what, missing string) error {
	return &unsupportedError{fmt.Sprintf("fakecluster does not serve %s: %s", what, missing)}
}

// refusal is a Status with a message and no reason.
func refusal(code int, message string) error {
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", message, 0, false)
}
