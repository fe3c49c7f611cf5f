package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/store"
)

// joins tells whether a transformed list is answered by joining the JSON of its
// items, which need not all be objects at once for that, and most of them never.
func (t *transformer) joins() bool {
	return t.output.Accepted.MediaType == runtime.ContentTypeJSON && !t.output.pretty && t.output.Convert.Kind != "PartialObjectMetadata"
}

// answerJoined answers with what list and encode would make of the items.
func (t *transformer) answerJoined(p page, items []string) error {
	transform, first := t.partialText, []string(nil)
	if t.table != nil {
		// The columns of a table come with its first row.
		transform, first = t.rowText, items[:min(len(items), 1)]
	}
	envelope, err := t.list(p, first)
	if err != nil {
		return err
	}
	if table, ok := envelope.(*metav1.Table); ok {
		table.Rows = []metav1.TableRow{}
	}
	text, err := t.encode(envelope)
	if err != nil {
		return err
	}
	const tail = "]}\n"
	head, ok := strings.CutSuffix(string(text), tail)
	if !ok {
		return fmt.Errorf("the JSON of %T does not end with its items", envelope)
	}
	parts := make([]string, 0, 2*len(items)+2)
	parts = append(parts, head)
	for _, item := range items {
		transformed, err := transform(item)
		if err != nil {
			return err
		}
		if transformed == "" {
			continue // an object that is an empty list has no row
		}
		if len(parts) > 1 {
			parts = append(parts, ",")
		}
		parts = append(parts, transformed)
	}
	t.writeText(http.StatusOK, t.output.Accepted.MediaType, append(parts, tail)...)
	return nil
}

// partialText is the JSON of an object's metadata, as an item of a list.
func (t *transformer) partialText(text string) (string, error) {
	if metadata, ok := partialMetadata(text, t.version.Typed); ok {
		return `{"kind":"PartialObjectMetadata","apiVersion":"` + t.output.Convert.GroupVersion().String() + `","metadata":` + metadata + "}", nil
	}
	obj, err := t.version.Codec.DecodeStored(store.Record{Value: text})
	if err != nil {
		return "", err
	}
	partial, err := t.partial(obj)
	if err != nil {
		return "", err
	}
	out, err := json.Marshal(partial)
	return string(out), err
}

// rowText is the JSON of an object's row in a table.
func (t *transformer) rowText(text string) (string, error) {
	var cells []any
	var ok bool
	var err error
	// With this annotation an object is shown where others are not.
	special := t.table.IncludeObject == metav1.IncludeNone && strings.Contains(text, metav1.InitialEventsAnnotationKey)
	if read := t.version.ReadCells; read != nil && !special {
		if cells, ok, err = read(t.ctx, text); err != nil {
			return "", err
		}
	}
	if !ok {
		return t.decodedRows(text)
	}
	object := "null"
	switch t.table.IncludeObject {
	case metav1.IncludeObject:
		object = text
	case metav1.IncludeNone:
	default:
		if object, err = t.partialText(text); err != nil {
			return "", err
		}
	}
	out, err := json.Marshal(cells)
	return `{"cells":` + string(out) + `,"object":` + object + "}", err
}

// decodedRows are the JSON of an object's rows: if the object is a list, as many as
// that has items.
func (t *transformer) decodedRows(text string) (string, error) {
	obj, err := t.version.Codec.DecodeStored(store.Record{Value: text})
	if err != nil {
		return "", err
	}
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{}}
	if err := t.addRow(table, obj, text); err != nil {
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
