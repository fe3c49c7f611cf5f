package rest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// errUnknownPath is the answer to a path that nothing serves, as text.
var errUnknownPath = errors.New("404 page not found")

// unknownMethod is the answer to a method that is not allowed at a path.
func unknownMethod() error { return refusal(http.StatusMethodNotAllowed, "405: Method Not Allowed") }

// accepts reports whether the client accepts one of the media types. A client without the header Accept
// accepts all.
func accepts(req *http.Request, types ...string) bool {
	accept := req.Header.Get("Accept")
	return accept == "" || matches(accept, types) || matches(accept, []string{"*/*"})
}

// matches reports whether a header lists one of the media types.
func matches(header string, types []string) bool {
	for listed := range strings.SplitSeq(header, ",") {
		mediaType, _, _ := strings.Cut(listed, ";")
		if slices.Contains(types, strings.TrimSpace(mediaType)) {
			return true
		}
	}
	return false
}

// errUnsupportedMediaType is the answer to a Content-Type for which there is no route.
var errUnsupportedMediaType = refusal(http.StatusUnsupportedMediaType, "415: Unsupported Media Type")

// notAvailable is the answer to a client that accepts none of the media types of a route.
func notAvailable(types ...string) error {
	return refusal(http.StatusNotAcceptable, "406: Not Acceptable\n\nAvailable representations: "+strings.Join(types, ", "))
}

// notServed is the answer to a request for something that a real server serves and this one does not; missing
// is the reason.
func notServed(what, missing string) error {
	return &unsupportedError{fmt.Sprintf("fakecluster does not serve %s: %s", what, missing)}
}

// refusal is a Status with a message and no reason.
func refusal(code int, message string) error {
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", message, 0, false)
}
