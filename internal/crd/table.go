package crd

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
)

// table is the printer of a version. Upstream's printer needs objects. If all columns have plain paths, it gets a
// sketch: an object with only the fields that the columns show.
type table struct {
	registryrest.TableConvertor
	paths    []string // of the columns, for gjson
	sketches bool
}

// newTableOf returns the printer. If the path of a column cannot be parsed, that column and those after it are not
// printed.
func newTableOf(columns []apiextensionsv1.CustomResourceColumnDefinition) table {
	convertor, err := tableconvertor.New(columns)
	if err != nil {
		return table{TableConvertor: convertor}
	}
	t := table{TableConvertor: convertor, sketches: true}
	for _, column := range columns {
		path := plainPath(column.JSONPath)
		t.paths, t.sketches = append(t.paths, path), t.sketches && path != ""
	}
	return t
}

// ReadCells implements resource.Tables.ReadCells.
func (t table) ReadCells(ctx context.Context, text string) ([]any, bool, error) {
	// The printer treats an object with items as a list.
	if !t.sketches || gjson.Get(text, "items").Exists() {
		return nil, false, nil
	}
	sketch := map[string]any{}
	if err := draw(sketch, text, "metadata.name"); err != nil {
		return nil, false, err
	}
	for _, path := range t.paths {
		if err := draw(sketch, text, path); err != nil {
			return nil, false, err
		}
	}
	single, err := t.ConvertToTable(ctx, &unstructured.Unstructured{Object: sketch}, &metav1.TableOptions{NoHeaders: true})
	if err != nil || len(single.Rows) != 1 {
		return nil, false, err
	}
	return single.Rows[0].Cells, true, nil
}

// draw copies the value at a path of an object's JSON, if it exists, to the same path of the sketch.
func draw(sketch map[string]any, text, path string) error {
	found := gjson.Get(text, path)
	if !found.Exists() {
		return nil
	}
	value, err := valueOf(found)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	for {
		name, rest, more := strings.Cut(path, ".")
		if !more {
			sketch[name] = value
			return nil
		}
		inner, ok := sketch[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			sketch[name] = inner
		}
		sketch, path = inner, rest
	}
}

// valueOf converts JSON to a value of an unstructured object.
func valueOf(found gjson.Result) (value any, err error) {
	switch found.Type {
	case gjson.String:
		return found.String(), nil
	case gjson.True, gjson.False:
		return found.Bool(), nil
	case gjson.Null:
		return nil, nil
	}
	if isPlainInteger(found.Raw) {
		return strconv.ParseInt(found.Raw, 10, 64)
	}
	err = utiljson.Unmarshal([]byte(found.Raw), &value)
	return value, err
}
