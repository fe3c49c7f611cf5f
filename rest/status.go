package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/view"
)

// writeError answers with the Status of an error, in the media type that the
// client accepts.
func writeError(w http.ResponseWriter, req *http.Request, err error) {
	faultinjection.Observe(req.Context(), err)
	if errors.Is(err, errUnknownPath) {
		http.NotFound(w, req)
		return
	}
	if errors.Is(err, errAllotted) {
		writeAllotted(w, req)
		return
	}
	if errors.Is(err, errClosed) {
		http.Error(w, errClosed.Error(), http.StatusServiceUnavailable)
		return
	}
	if errors.Is(err, errTooManyWatches) {
		writeTooMany(w, time.Second)
		return
	}
	var tooMany *faultinjection.ErrTooMany
	if errors.As(err, &tooMany) {
		writeTooMany(w, tooMany.RetryAfter)
		return
	}
	status := view.Status(err)
	code := int(status.Code)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	if code == http.StatusNoContent {
		w.WriteHeader(code)
		return
	}
	writeObject(w, req, code, status)
}

// writeObject answers with an object that is not stored, such as a Status or a discovery document.
func writeObject(w http.ResponseWriter, req *http.Request, code int, obj runtime.Object) {
	setAuditObject(req.Context(), obj)
	_, info, err := negotiation.NegotiateOutputMediaType(req, scheme.Codecs, negotiation.DefaultEndpointRestrictions)
	if err != nil {
		// An error is sent as JSON even if the client does not accept that.
		if code < http.StatusBadRequest {
			status := view.Status(err)
			code, obj = int(status.Code), status
		}
		responsewriters.WriteRawJSON(code, obj, w)
		return
	}
	encode(w, code, obj, info)
}

// encodeObject is writeObject in a form that has been negotiated already.
func encodeObject(w http.ResponseWriter, req *http.Request, code int, obj runtime.Object, form view.Form) {
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), form.Accepted.MediaType)
	if !ok {
		writeObject(w, req, code, obj)
		return
	}
	setAuditObject(req.Context(), obj)
	if form.Pretty {
		info.Serializer = info.PrettySerializer
	}
	encode(w, code, obj, info)
}

func encode(w http.ResponseWriter, code int, obj runtime.Object, info runtime.SerializerInfo) {
	body, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), obj)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", info.MediaType)
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client may have gone
}

// errAllotted is the error of a request that took longer than the timeout in its query, or than any request
// may take.
var errAllotted = apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)

// writeAllotted answers a request with errAllotted. On a real server, a filter in front of
// all handlers does that, and it does not negotiate: it sends the Status as JSON without
// its kind, with the media type text/plain and without the headers that handlers have set.
// client-go cannot read that, and says that "the server was unable to return a response in the time allotted".
func writeAllotted(w http.ResponseWriter, req *http.Request) {
	setAuditObject(req.Context(), view.Status(errAllotted))
	delete(w.Header(), levelHeader)
	delete(w.Header(), schemaHeader)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusGatewayTimeout)
	json.NewEncoder(w).Encode(&errAllotted.ErrStatus)
}

// errTooManyWatches is the answer to a watch beyond the limit.
var errTooManyWatches = errors.New("too many watches")

// writeTooMany answers with 429, as a real server that is overloaded does.
func writeTooMany(w http.ResponseWriter, retryAfter time.Duration) {
	if retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
	}
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}
