package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// Form is the negotiated form of a response.
type Form struct {
	// Accepted is the media type.
	Accepted runtime.SerializerInfo
	// Convert is the kind of meta.k8s.io in which objects are shown: Table, PartialObjectMetadata or
	// PartialObjectMetadataList; nil: objects are shown as they are.
	Convert *schema.GroupVersionKind
	// Plain: the client gets the objects as they are, as JSON without line breaks, which stored bytes are.
	Plain bool
	// Pretty: JSON has line breaks.
	Pretty bool
}

// View shows objects of a version in a form.
type View struct {
	version *resource.Version
	form    Form
	table   *metav1.TableOptions // nil: no Table is requested
}

// New returns the View of a version in a form. A Table needs options for its rows; other forms ignore them.
func New(v *resource.Version, f Form, options *metav1.TableOptions) (*View, error) {
	view := &View{version: v, form: f}
	if f.Convert == nil || f.Convert.Kind != "Table" {
		return view, nil
	}
	view.table = options
	switch errs := metav1validation.ValidateTableOptions(options); len(errs) {
	case 0:
		return view, nil
	case 1:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs[0].Error()))
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs))
	}
}

// InJSON returns the View that shows the same in JSON without line breaks.
func (v *View) InJSON() *View {
	same := *v
	same.form.Accepted, _ = runtime.SerializerInfoForMediaType(v.version.Serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
	same.form.Plain, same.form.Pretty = v.form.Convert == nil, false
	return &same
}

// errObjectWithItems is the error of a real server for a custom object that has a list called items: it treats the
// object as a list. The write is stored all the same.
var errObjectWithItems = errors.New("*unstructured.Unstructured is not a list: no Items field in this object")

// Object shows one object, given as JSON of the version. stored is the decoded object in the hub version, or nil; it is
// not altered.
func (v *View) Object(ctx context.Context, text string, stored runtime.Object) (Content, error) {
	if v.version.Exceptions.MayHaveItems && gjson.Get(text, "items").IsArray() {
		return Content{}, errObjectWithItems
	}
	if v.form.Plain {
		return single(runtime.ContentTypeJSON, text, "\n"), nil
	}
	if v.form.Convert != nil {
		obj, err := v.convert(ctx, text)
		if err != nil {
			return Content{}, err
		}
		return v.encoded(obj)
	}
	if v.form.Accepted.MediaType == runtime.ContentTypeProtobuf && stored != nil {
		return v.inProtobuf(resource.Shallow(stored))
	}
	return v.reencoded(text)
}

// List shows the objects of a page, given as JSON of the version.
func (v *View) List(ctx context.Context, p Page, items []string) (Content, error) {
	switch {
	case v.joins():
		return v.join(ctx, p, items)
	case v.form.Convert != nil:
		obj, err := v.convertList(ctx, p, items)
		if err != nil {
			return Content{}, err
		}
		return v.encoded(obj)
	case v.form.Plain:
		return streamed(runtime.ContentTypeJSON, list{version: v.version, page: p, items: items, end: "\n"}.pieces), nil
	}
	return v.reencoded(list{version: v.version, page: p, items: items}.text())
}

// reencoded encodes JSON of the version in another media type or with line breaks.
func (v *View) reencoded(text string) (Content, error) {
	switch v.form.Accepted.MediaType {
	case runtime.ContentTypeYAML:
		out, err := yaml.JSONToYAML([]byte(text))
		return single(runtime.ContentTypeYAML, string(out), ""), err
	case runtime.ContentTypeJSON:
		var b bytes.Buffer
		err := json.Indent(&b, []byte(text), "", "  ")
		return single(runtime.ContentTypeJSON, b.String(), ""), err
	}
	obj, err := v.version.Codec.DecodeAs(text)
	if err != nil {
		return Content{}, fmt.Errorf("reading the response back: %w", err)
	}
	return v.inProtobuf(obj)
}

// inProtobuf encodes an object in the media type that the client accepts, which is neither JSON nor YAML.
func (v *View) inProtobuf(obj runtime.Object) (Content, error) {
	var b strings.Builder
	err := encodeInto(&b, v.version.Serializer.EncoderForVersion(v.form.Accepted.Serializer, v.version.GroupVersion()), obj)
	return single(v.form.Accepted.MediaType, b.String(), ""), err
}

// encoded encodes a converted object in the media type that the client accepts.
func (v *View) encoded(obj runtime.Object) (Content, error) {
	out, err := v.encode(obj)
	return single(v.form.Accepted.MediaType, string(out), ""), err
}

// notAcceptable is a 406 with a message of its own.
type notAcceptable string

func (e notAcceptable) Error() string { return string(e) }

func (e notAcceptable) Status() metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable, Message: string(e),
	}
}
