package rest

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
)

// negotiate returns the form of the response.
func (r *request) negotiate() (view.Form, error) {
	accept := r.http.Header.Get("Accept")
	usual := accept == "" || accept == runtime.ContentTypeJSON || accept == runtime.ContentTypeJSON+", */*"
	if usual && !asksForPretty(r.http) {
		return view.Form{Accepted: r.viewed().Serializer.SupportedMediaTypes()[0], Plain: true}, nil
	}
	media, info, err := negotiation.NegotiateOutputMediaType(r.http, r.viewed().Serializer, r.restrictions())
	if err != nil {
		return view.Form{}, err
	}
	f := view.Form{Accepted: media.Accepted, Convert: media.Convert}
	f.Pretty = info.MediaType == runtime.ContentTypeJSON && info.Serializer == info.PrettySerializer
	f.Plain = info.MediaType == runtime.ContentTypeJSON && media.Convert == nil && !f.Pretty
	return f, nil
}

// restrictions returns in which forms the answer can be sent.
func (r *request) restrictions() negotiation.EndpointRestrictions {
	if s := r.version.Subresource[r.info.Subresource]; s != nil && (s.NoTable || s.Connection != nil) {
		return withoutTable{r.viewed()}
	}
	return r.viewed()
}

// withoutTable are the restrictions of a subresource that is not served as a Table.
type withoutTable struct{ *resource.Version }

// AllowsMediaTypeTransform implements negotiation.EndpointRestrictions.
func (w withoutTable) AllowsMediaTypeTransform(mimeType, mimeSubType string, target *schema.GroupVersionKind) bool {
	return (target == nil || target.Kind != "Table") && w.Version.AllowsMediaTypeTransform(mimeType, mimeSubType, target)
}

// objectTypes are the media types of built-in kinds and their discovery documents.
var objectTypes = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf}

// checkRoute rejects a request for a document whose Content-Type or Accept is none of the given media types.
func checkRoute(req *http.Request, types []string) error {
	if contentType := req.Header.Get("Content-Type"); contentType != "" && !matches(contentType, types) {
		return errUnsupportedMediaType
	}
	if !accepts(req, types...) {
		return notAvailable(types...)
	}
	return nil
}

// asksForPretty reports whether the answer may have to be indented: because of the query, or because the
// client is a browser, curl or wget.
func asksForPretty(req *http.Request) bool {
	if strings.Contains(req.URL.RawQuery, "pretty") {
		return true
	}
	agent := req.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}
