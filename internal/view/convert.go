package view

import (
	"bytes"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/apihelpers"
)

// convert converts a single object, given as JSON of the version, to the form that the client asks for.
func (v *View) convert(ctx context.Context, text string) (runtime.Object, error) {
	obj, err := v.version.Codec.DecodeShown(text)
	if err != nil {
		return nil, err
	}
	return v.convertObject(ctx, obj, text)
}

// convertObject is convert for an object that is also given in the hub version.
func (v *View) convertObject(ctx context.Context, obj runtime.Object, text string) (runtime.Object, error) {
	switch v.form.Convert.Kind {
	case "PartialObjectMetadata":
		return v.partial(obj)
	case "PartialObjectMetadataList":
		if u, ok := obj.(runtime.Unstructured); ok {
			// Upstream takes such an object for a list until it looks for the items.
			return nil, u.EachListItem(func(runtime.Object) error { return nil })
		}
		return nil, notAcceptable(fmt.Sprintf("you requested PartialObjectMetadataList, but the requested object is not a list (%T)", obj))
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	table := &metav1.Table{ListMeta: metav1.ListMeta{ResourceVersion: metadata.GetResourceVersion()}}
	return table, v.addRow(ctx, table, obj, text)
}

// convertList converts the items of a list, given as JSON of the version, to the form that the client asks for.
func (v *View) convertList(ctx context.Context, p Page, items []string) (runtime.Object, error) {
	listMeta := metav1.ListMeta{ResourceVersion: p.resourceVersion(), Continue: p.Continue, RemainingItemCount: p.Remaining}
	switch v.form.Convert.Kind {
	case "PartialObjectMetadata":
		return nil, notAcceptable(fmt.Sprintf("you requested PartialObjectMetadata, but the requested object is a list (%TList)", v.version.Codec.New()))
	case "PartialObjectMetadataList":
		return v.partialList(listMeta, items)
	}
	table := &metav1.Table{ListMeta: listMeta, Rows: []metav1.TableRow{}}
	if v.version.Tables.NullRows && len(items) == 0 {
		table.Rows = nil
	}
	if len(items) == 0 && !v.table.NoHeaders {
		empty, err := v.version.Tables.Convertor.ConvertToTable(ctx, v.version.Codec.New(), v.table)
		if err != nil {
			return nil, err
		}
		table.ColumnDefinitions = empty.ColumnDefinitions
	}
	objects := make([]runtime.Object, len(items))
	for i, text := range items {
		var err error
		if objects[i], err = v.version.Codec.DecodeShown(text); err != nil {
			return nil, err
		}
	}
	if tables := v.version.Tables.OfList; tables != nil && len(items) > 0 {
		whole, err := tables(ctx, objects, v.table)
		if err != nil {
			return nil, err
		}
		if len(whole.Rows) != len(items) {
			return nil, fmt.Errorf("%d rows for %d objects", len(whole.Rows), len(items))
		}
		table.ColumnDefinitions = whole.ColumnDefinitions
		places := map[types.NamespacedName]int{}
		for i, obj := range objects {
			name, err := nameOf(obj)
			if err != nil {
				return nil, err
			}
			places[name] = i
		}
		for _, row := range whole.Rows {
			name, err := nameOf(row.Object.Object)
			if err != nil {
				return nil, err
			}
			i := places[name]
			if err := v.addTo(table, row, objects[i], items[i]); err != nil {
				return nil, err
			}
		}
		return table, nil
	}
	for i, obj := range objects {
		if err := v.addRow(ctx, table, obj, items[i]); err != nil {
			return nil, err
		}
	}
	return table, nil
}

func nameOf(obj runtime.Object) (types.NamespacedName, error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return types.NamespacedName{}, err
	}
	return types.NamespacedName{Namespace: metadata.GetNamespace(), Name: metadata.GetName()}, nil
}

// addRow adds an object to a table. The first row brings the headers.
func (v *View) addRow(ctx context.Context, table *metav1.Table, obj runtime.Object, text string) error {
	options := *v.table
	options.NoHeaders = options.NoHeaders || table.ColumnDefinitions != nil
	single, err := v.version.Tables.Convertor.ConvertToTable(ctx, obj, &options)
	if err != nil {
		return err
	}
	if table.ColumnDefinitions == nil {
		table.ColumnDefinitions = single.ColumnDefinitions
	}
	for _, row := range single.Rows {
		if err := v.addTo(table, row, obj, text); err != nil {
			return err
		}
	}
	return nil
}

// addTo adds the row of an object to a table, with the part of the object that the client asks for.
func (v *View) addTo(table *metav1.Table, row metav1.TableRow, obj runtime.Object, text string) error {
	endsInitialEvents, err := storage.HasInitialEventsEndBookmarkAnnotation(obj)
	if err != nil {
		return err
	}
	switch {
	case v.table.IncludeObject == metav1.IncludeObject:
		row.Object = runtime.RawExtension{Raw: []byte(text)}
	case v.table.IncludeObject == metav1.IncludeNone && !endsInitialEvents:
		row.Object = runtime.RawExtension{}
	default:
		partial, err := v.partial(obj)
		if err != nil {
			return err
		}
		row.Object = runtime.RawExtension{Object: partial}
	}
	table.Rows = append(table.Rows, row)
	return nil
}

// partial returns the metadata of an object.
func (v *View) partial(obj runtime.Object) (*metav1.PartialObjectMetadata, error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	partial := meta.AsPartialObjectMetadata(metadata)
	partial.SetGroupVersionKind(v.form.Convert.GroupVersion().WithKind("PartialObjectMetadata"))
	return partial, nil
}

func (v *View) partialList(listMeta metav1.ListMeta, items []string) (runtime.Object, error) {
	var partials []metav1.PartialObjectMetadata // without an item the list has null, as on a real server
	for _, text := range items {
		obj, err := v.version.Codec.DecodeShown(text)
		if err != nil {
			return nil, err
		}
		partial, err := v.partial(obj)
		if err != nil {
			return nil, err
		}
		partials = append(partials, *partial)
	}
	if v.form.Convert.GroupVersion() == metav1beta1.SchemeGroupVersion {
		return &metav1beta1.PartialObjectMetadataList{ListMeta: listMeta, Items: partials}, nil
	}
	return &metav1.PartialObjectMetadataList{ListMeta: listMeta, Items: partials}, nil
}

// encode writes a converted object in the media type that the client accepts.
func (v *View) encode(obj runtime.Object) ([]byte, error) {
	codecs := apihelpers.GetMetaInternalVersionCodecs()
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), v.form.Accepted.MediaType)
	if !ok {
		return nil, notAcceptable(fmt.Sprintf("no encoder for %q", v.form.Accepted.MediaType))
	}
	serializer := info.Serializer
	if v.form.Pretty && info.PrettySerializer != nil {
		serializer = info.PrettySerializer
	}
	var b bytes.Buffer
	err := codecs.EncoderForVersion(serializer, v.form.Convert.GroupVersion()).Encode(obj, &b)
	return b.Bytes(), err
}
