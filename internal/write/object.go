package write

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// Object is the object of a Create or a Replace: a Sent of a client, or a Made of the server itself.
type Object interface {
	// in returns the object in a version. Each call returns a new object, which the pipeline may alter.
	in(ctx context.Context, r *Request, v *resource.Version) (resource.Decoded, error)
}

// Made returns an object in a version. Each call returns a new one, which the pipeline may alter.
type Made func(v *resource.Version) (resource.Decoded, error)

func (m Made) in(_ context.Context, _ *Request, v *resource.Version) (resource.Decoded, error) {
	return m(v)
}

// Sent is an encoded object of a client. It is immutable. Each attempt at a write decodes it again.
type Sent struct {
	Body []byte
	// MediaType is one of those of the Serializer of the version.
	MediaType string
	// Validation is the fieldValidation directive: Ignore, Warn or Strict.
	Validation string
}

// in decodes the body as an object of the version.
func (s *Sent) in(ctx context.Context, r *Request, v *resource.Version) (resource.Decoded, error) {
	return s.decode(ctx, r, v)
}

// decode decodes the body as an object of the version, by the rules of the fieldValidation directive. The body may be in the
// version, or in one of the others that are given.
func (s *Sent) decode(ctx context.Context, r *Request, v *resource.Version, also ...schema.GroupVersion) (resource.Decoded, error) {
	info, ok := runtime.SerializerInfoForMediaType(v.Serializer.SupportedMediaTypes(), s.MediaType)
	if !ok {
		return resource.Decoded{}, apierrors.NewInternalError(fmt.Errorf("%s is not read in the media type %s", v.Kind(), s.MediaType))
	}
	serializer := info.StrictSerializer
	if !reportsStrictErrors(s.Validation) || serializer == nil {
		serializer = info.Serializer
	}
	obj, kind, err := v.Codec.Decode(s.Body, serializer)
	observed := observe.From(ctx)
	observed.Decoded(v, s.Body, s.MediaType, info.Serializer, obj.Object)
	if err != nil {
		strict, isStrict := runtime.AsStrictDecodingError(err)
		if !isStrict || obj.Object == nil || rejectsStrictErrors(s.Validation) {
			return resource.Decoded{}, decodeError(err, v, kind, obj.Object, s.Body)
		}
		for _, complaint := range strict.Errors() {
			warnStrictErrors(ctx, complaint)
		}
	}
	if gv := kind.GroupVersion(); gv != v.GroupVersion() && !slices.Contains(also, gv) {
		return resource.Decoded{}, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)",
			kind.GroupVersion(), v.GroupVersion()))
	}
	observed.Object(obj.Object, v.GroupVersion(), r.Version.GroupVersionResource(), r.Subresource, v.Serializer)
	return obj, nil
}

// decodeError returns the error for a body that cannot be decoded. obj is the result of strict decoding, or nil. As on a
// real server, the message for an unstructured object wants the kind that the body itself has.
func decodeError(err error, v *resource.Version, kind *schema.GroupVersionKind, obj runtime.Object, body []byte) error {
	want := v.Kind().Kind
	if obj != nil && !v.Typed {
		kinds, _, err := v.Codec.Objects().ObjectKinds(obj)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		want = kinds[0].Kind
	}
	if v.Exceptions.Undecodable != "" {
		return apierrors.NewBadRequest(v.Exceptions.Undecodable)
	}
	if kind != nil && kind.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind.Kind, kind.Version, want, err))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", want, err, excerpt(body)))
}

// excerpt returns the beginning of a body, in hexadecimal if it is not JSON.
func excerpt(body []byte) string {
	const length = 30
	if len(body) == 0 {
		return "<empty>"
	}
	text, more := body, ""
	if len(body) > length {
		text, more = body[:length], " ..."
	}
	if body[0] == '{' {
		return string(text) + more
	}
	return hex.EncodeToString(text) + more
}
