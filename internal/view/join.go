package view

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

// joins reports whether the JSON of a converted list can be joined from that of its converted
// items. Then the items are never all decoded at once, and most are not decoded at all.
func (v *View) joins() bool {
	if v.table != nil && v.version.Tables.OfList != nil {
		return false // a row depends on the other objects
	}
	return v.form.Convert != nil && v.form.Accepted.MediaType == runtime.ContentTypeJSON && !v.form.Pretty && v.form.Convert.Kind != "PartialObjectMetadata"
}

// join returns the same list as convertList and encode.
func (v *View) join(ctx context.Context, p Page, items []string) (Content, error) {
	transform, first := v.partialText, []string(nil)
	if v.table != nil {
		// The columns of a table come with its first row.
		transform, first = v.rowText, items[:min(len(items), 1)]
	}
	envelope, err := v.convertList(ctx, p, first)
	if err != nil {
		return Content{}, err
	}
	if len(items) == 0 {
		return v.encoded(envelope)
	}
	switch list := envelope.(type) { // with items, they are a list and not null
	case *metav1.Table:
		list.Rows = []metav1.TableRow{}
	case *metav1.PartialObjectMetadataList:
		list.Items = []metav1.PartialObjectMetadata{}
	case *metav1beta1.PartialObjectMetadataList:
		list.Items = []metav1.PartialObjectMetadata{}
	}
	text, err := v.encode(envelope)
	if err != nil {
		return Content{}, err
	}
	const tail = "]}\n"
	head, ok := strings.CutSuffix(string(text), tail)
	if !ok {
		return Content{}, fmt.Errorf("the JSON of %T does not end with its items", envelope)
	}
	parts := make([]string, 0, 2*len(items)+2)
	parts = append(parts, head)
	for _, item := range items {
		transformed, err := transform(ctx, item)
		if err != nil {
			return Content{}, err
		}
		if transformed == "" {
			continue // an object that is an empty list has no row
		}
		if len(parts) > 1 {
			parts = append(parts, ",")
		}
		parts = append(parts, transformed)
	}
	return streamed(v.form.Accepted.MediaType, slices.Values(append(parts, tail))), nil
}

// partialText returns the JSON of an object's metadata, as an item of a list.
func (v *View) partialText(_ context.Context, text string) (string, error) {
	if metadata, ok := partialMetadata(text, v.version.Typed); ok && !v.hasFieldAnnotations(metadata) {
		return `{"kind":"PartialObjectMetadata","apiVersion":"` + v.form.Convert.GroupVersion().String() + `","metadata":` + metadata + "}", nil
	}
	obj, err := v.version.Codec.DecodeShown(text)
	if err != nil {
		return "", err
	}
	partial, err := v.partial(obj)
	if err != nil {
		return "", err
	}
	out, err := json.Marshal(partial)
	return string(out), err
}

// hasFieldAnnotations reports whether the JSON of metadata may have annotations that stand for fields.
func (v *View) hasFieldAnnotations(metadata string) bool {
	return slices.ContainsFunc(v.version.Exceptions.FieldAnnotations, func(name string) bool { return strings.Contains(metadata, name) })
}

// rowText returns the JSON of an object's row in a table.
func (v *View) rowText(ctx context.Context, text string) (string, error) {
	var cells []any
	var ok bool
	var err error
	// With this annotation an object is shown where others are not.
	special := v.table.IncludeObject == metav1.IncludeNone && strings.Contains(text, metav1.InitialEventsAnnotationKey)
	if read := v.version.Tables.ReadCells; read != nil && !special {
		if cells, ok, err = read(ctx, text); err != nil {
			return "", err
		}
	}
	if !ok {
		return v.decodedRows(ctx, text)
	}
	object := "null"
	switch v.table.IncludeObject {
	case metav1.IncludeObject:
		object = text
	case metav1.IncludeNone:
	default:
		if object, err = v.partialText(ctx, text); err != nil {
			return "", err
		}
	}
	out, err := json.Marshal(cells)
	return `{"cells":` + string(out) + `,"object":` + object + "}", err
}

// decodedRows returns the JSON of an object's rows. The printer treats an object with items as a list, with a row for
// each item.
func (v *View) decodedRows(ctx context.Context, text string) (string, error) {
	obj, err := v.version.Codec.DecodeShown(text)
	if err != nil {
		return "", err
	}
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{}}
	if err := v.addRow(ctx, table, obj, text); err != nil {
		return "", err
	}
	rows := make([]string, len(table.Rows))
	for i := range table.Rows {
		out, err := json.Marshal(table.Rows[i])
		if err != nil {
			return "", err
		}
		rows[i] = string(out)
	}
	return strings.Join(rows, ","), nil
}
