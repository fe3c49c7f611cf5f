package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializerjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/write"
)

// maxBodyBytes is the limit of a request's body, upstream's default.
const maxBodyBytes = 3 * 1024 * 1024

// announcedBytes limits how many bytes are allocated because of a Content-Length.
const announcedBytes = 256 * 1024

// readBody reads the body, once.
func (r *request) readBody() ([]byte, error) {
	if r.sent.Body != nil {
		return r.sent.Body, nil
	}
	limited := http.MaxBytesReader(r.w, r.http.Body, maxBodyBytes)
	// A client may announce any length; only what it sends counts.
	read := bytes.NewBuffer(make([]byte, 0, min(max(r.http.ContentLength, 0), announcedBytes)+bytes.MinRead))
	connection := http.NewResponseController(r.w)
	if deadline, ok := r.ctx.Deadline(); ok {
		// A client that stops sending cannot keep the request for longer than a handler
		// could. Not every transport has deadlines.
		_ = connection.SetReadDeadline(deadline)
	}
	_, err := read.ReadFrom(limited)
	observe.From(r.ctx).Body(read.Bytes())
	if err == nil { // otherwise net/http reads on to the end of the body
		_ = connection.SetReadDeadline(time.Time{})
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBodyBytes))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// The context may have ended meanwhile because of the connection.
		_, late, err := limitOf(r.http)
		return nil, errors.Join(late, err)
	}
	if err != nil {
		return nil, err // a client sees it as it is
	}
	if check := r.version.CheckBody; check != nil {
		isText := !strings.Contains(r.http.Header.Get("Content-Type"), "protobuf")
		if err := check(read.Bytes(), isText); err != nil && !r.failsByKind(read.Bytes()) {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	r.sent.Body = read.Bytes() // not nil
	return r.sent.Body, nil
}

// failsByKind reports whether the body is an object in JSON whose apiVersion or kind decoding refuses, before it reads anything else.
func (r *request) failsByKind(body []byte) bool {
	if r.http.Method != http.MethodPost && r.http.Method != http.MethodPut {
		return false
	}
	_, err := serializerjson.DefaultMetaFactory.Interpret(body)
	return err != nil && json.Valid(body)
}

// receive reads a body that contains an object. It fails if the media type is not served.
func (r *request) receive(fieldValidation string) (*write.Sent, error) {
	info, err := negotiation.NegotiateInputSerializer(r.http, false, r.viewed().Serializer)
	if err != nil {
		return nil, err
	}
	if _, err := r.readBody(); err != nil {
		return nil, err
	}
	r.sent.MediaType, r.sent.Validation = info.MediaType, fieldValidation
	return &r.sent, nil
}

// decodeDeleteOptions decodes the options in the body of a delete, and returns the kind that they
// were sent as.
func decodeDeleteOptions(req *http.Request, body []byte, into *metav1.DeleteOptions) (sent *schema.GroupVersionKind, err error) {
	info, err := negotiation.NegotiateInputSerializer(req, false, metainternalversionscheme.Codecs)
	if err != nil {
		return nil, err
	}
	kind := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
	obj, sent, err := metainternalversionscheme.Codecs.DecoderToVersion(info.Serializer, kind.GroupVersion()).Decode(body, &kind, into)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if obj != runtime.Object(into) {
		return nil, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	return sent, nil
}
