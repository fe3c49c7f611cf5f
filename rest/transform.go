package rest

import (
	"bytes"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/apihelpers"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// transformer shows objects as something else: a Table, or their metadata alone.
type transformer struct {
	*request
	version *resource.Version
	table   *metav1.TableOptions
}

// transformer is what the client asked for, or nil if it wants the objects as
// they are.
func (r *request) transformer() (*transformer, error) {
	target := r.output.Convert
	if target == nil {
		return nil, nil
	}
	t := &transformer{request: r, version: r.viewed()}
	if target.Kind != "Table" {
		return t, nil
	}
	t.table = &metav1.TableOptions{}
	if err := r.parseQuery(t.table); err != nil {
		return nil, err
	}
	switch errs := metav1validation.ValidateTableOptions(t.table); len(errs) {
	case 0:
		return t, nil
	case 1:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs[0].Error()))
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs))
	}
}

// notAcceptable is a 406 in words of its own.
type notAcceptable string

func (e notAcceptable) Error() string { return string(e) }

func (e notAcceptable) Status() metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable, Message: string(e),
	}
}

// one transforms a single object, given as JSON of the version.
func (t *transformer) one(text string) (runtime.Object, error) {
	obj, err := t.version.Codec.DecodeStored(store.Record{Value: text})
	if err != nil {
		return nil, err
	}
	switch t.output.Convert.Kind {
	case "PartialObjectMetadata":
		return t.partial(obj)
	case "PartialObjectMetadataList":
		return nil, notAcceptable(fmt.Sprintf("you requested PartialObjectMetadataList, but the requested object is not a list (%T)", obj))
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	table := &metav1.Table{ListMeta: metav1.ListMeta{ResourceVersion: metadata.GetResourceVersion()}}
	return table, t.addRow(table, obj, text)
}

// list transforms the items of a list, given as JSON of the version.
func (t *transformer) list(p page, items []string) (runtime.Object, error) {
	listMeta := metav1.ListMeta{ResourceVersion: formatRevision(p.revision), Continue: p.next, RemainingItemCount: p.remaining}
	switch t.output.Convert.Kind {
	case "PartialObjectMetadata":
		return nil, notAcceptable(fmt.Sprintf("you requested PartialObjectMetadata, but the requested object is a list (%TList)", t.version.Codec.New()))
	case "PartialObjectMetadataList":
		return t.partialList(listMeta, items)
	}
	table := &metav1.Table{ListMeta: listMeta}
	if len(items) == 0 && !t.table.NoHeaders {
		empty, err := t.version.Table.ConvertToTable(t.ctx, t.version.Codec.New(), t.table)
		if err != nil {
			return nil, err
		}
		table.ColumnDefinitions, table.Rows = empty.ColumnDefinitions, []metav1.TableRow{}
	}
	for _, text := range items {
		obj, err := t.version.Codec.DecodeStored(store.Record{Value: text})
		if err != nil {
			return nil, err
		}
		if err := t.addRow(table, obj, text); err != nil {
			return nil, err
		}
	}
	return table, nil
}

// addRow adds an object to a table; the first row brings the headers.
func (t *transformer) addRow(table *metav1.Table, obj runtime.Object, text string) error {
	options := *t.table
	options.NoHeaders = options.NoHeaders || table.ColumnDefinitions != nil
	single, err := t.version.Table.ConvertToTable(t.ctx, obj, &options)
	if err != nil {
		return err
	}
	if table.ColumnDefinitions == nil {
		table.ColumnDefinitions = single.ColumnDefinitions
	}
	for _, row := range single.Rows {
		endsInitialEvents, err := storage.HasInitialEventsEndBookmarkAnnotation(obj)
		if err != nil {
			return err
		}
		switch {
		case t.table.IncludeObject == metav1.IncludeObject:
			row.Object = runtime.RawExtension{Raw: []byte(text)}
		case t.table.IncludeObject == metav1.IncludeNone && !endsInitialEvents:
			row.Object = runtime.RawExtension{}
		default:
			partial, err := t.partial(obj)
			if err != nil {
				return err
			}
			row.Object = runtime.RawExtension{Object: partial}
		}
		table.Rows = append(table.Rows, row)
	}
	return nil
}

// partial is the metadata of an object.
func (t *transformer) partial(obj runtime.Object) (*metav1.PartialObjectMetadata, error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	partial := meta.AsPartialObjectMetadata(metadata)
	partial.SetGroupVersionKind(t.output.Convert.GroupVersion().WithKind("PartialObjectMetadata"))
	return partial, nil
}

func (t *transformer) partialList(listMeta metav1.ListMeta, items []string) (runtime.Object, error) {
	partials := []metav1.PartialObjectMetadata{}
	for _, text := range items {
		obj, err := t.version.Codec.DecodeStored(store.Record{Value: text})
		if err != nil {
			return nil, err
		}
		partial, err := t.partial(obj)
		if err != nil {
			return nil, err
		}
		partials = append(partials, *partial)
	}
	if t.output.Convert.GroupVersion() == metav1beta1.SchemeGroupVersion {
		return &metav1beta1.PartialObjectMetadataList{ListMeta: listMeta, Items: partials}, nil
	}
	return &metav1.PartialObjectMetadataList{ListMeta: listMeta, Items: partials}, nil
}

// encode writes a transformed object in the form that the client accepts,
// without a line break at the end if it is to go into something else.
func (t *transformer) encode(obj runtime.Object) ([]byte, error) {
	codecs := apihelpers.GetMetaInternalVersionCodecs()
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), t.output.Accepted.MediaType)
	if !ok {
		return nil, notAcceptable(fmt.Sprintf("no encoder for %q", t.output.Accepted.MediaType))
	}
	serializer := info.Serializer
	if t.output.pretty && info.PrettySerializer != nil {
		serializer = info.PrettySerializer
	}
	var b bytes.Buffer
	err := codecs.EncoderForVersion(serializer, t.output.Convert.GroupVersion()).Encode(obj, &b)
	return b.Bytes(), err
}
