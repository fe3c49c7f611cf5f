package typed

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Tree returns the JSON of an object as a tree. The object is a pointer to a struct.
func Tree(obj any) (map[string]any, error) {
	v, p, err := structOf(obj)
	if err != nil {
		return nil, err
	}
	tree, err := p.tree(v)
	if err != nil {
		return nil, err
	}
	return tree.(map[string]any), nil
}

// structOf returns the struct that obj points to.
func structOf(obj any) (reflect.Value, *plan, error) {
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, nil, fmt.Errorf("%T is no pointer to a struct", obj)
	}
	p, err := planOf(v.Type().Elem())
	if err != nil {
		return reflect.Value{}, nil, err
	}
	if p.kind != isStruct {
		return reflect.Value{}, nil, fmt.Errorf("%T encodes itself", obj)
	}
	return v.Elem(), p, nil
}

func (p *plan) tree(v reflect.Value) (any, error) {
	switch p.kind {
	case isText:
		return v.String(), nil
	case isBool:
		return v.Bool(), nil
	case isInteger:
		return v.Int(), nil
	case isUnsigned:
		return int64(v.Uint()), nil
	case isFloat:
		return v.Float(), nil
	case isPointer:
		if v.IsNil() {
			return nil, nil
		}
		return p.elem.tree(v.Elem())
	case isStruct:
		memory := memoryOf(v)
		m := make(map[string]any, p.setFields(memory))
		for i := range p.fields {
			f := &p.fields[i]
			if f.omitEmpty && f.isUnset(memory) {
				continue
			}
			fv := f.in(v)
			if f.isLeftOut(fv) {
				continue
			}
			tree, err := f.plan.tree(fv)
			if err != nil {
				return nil, err
			}
			m[f.name] = tree
		}
		return m, nil
	case isList:
		if v.IsNil() {
			return nil, nil
		}
		list := make([]any, v.Len())
		for i := range list {
			var err error
			if list[i], err = p.elem.tree(v.Index(i)); err != nil {
				return nil, err
			}
		}
		return list, nil
	case isMap:
		if v.IsNil() {
			return nil, nil
		}
		m := make(map[string]any, v.Len())
		if texts, ok := textsOf(v); ok {
			for key, text := range texts {
				m[key] = text
			}
			return m, nil
		}
		for keys := v.MapRange(); keys.Next(); {
			tree, err := p.elem.tree(keys.Value())
			if err != nil {
				return nil, err
			}
			m[keys.Key().String()] = tree
		}
		return m, nil
	}
	return p.scalar(v)
}

// scalar returns the JSON of a value that is neither a map nor a list.
func (p *plan) scalar(v reflect.Value) (any, error) {
	switch p.kind {
	case isBytes:
		if v.IsNil() {
			return nil, nil
		}
		return base64.StdEncoding.EncodeToString(v.Bytes()), nil
	case isTime:
		t := timeOf(v)
		if t.IsZero() {
			return nil, nil
		}
		return t.UTC().Format(time.RFC3339), nil
	case isMicroTime:
		t := timeOf(v)
		if t.IsZero() {
			return nil, nil
		}
		return t.UTC().Format(metav1.RFC3339Micro), nil
	case isQuantity:
		q := quantityOf(v) // a copy: String keeps the text in it
		return q.String(), nil
	case isIntOrString:
		switch is := intOrStringOf(v); is.Type {
		case intstr.Int:
			return int64(is.IntVal), nil
		case intstr.String:
			return is.StrVal, nil
		default:
			return nil, fmt.Errorf("impossible IntOrString.Type")
		}
	}
	text, err := json.Marshal(addressable(v).Addr().Interface())
	if err != nil {
		return nil, err
	}
	var tree any
	err = utiljson.Unmarshal(text, &tree)
	return tree, err
}

func timeOf(v reflect.Value) time.Time {
	if v.CanAddr() {
		return *v.Field(0).Addr().Interface().(*time.Time)
	}
	return v.Field(0).Interface().(time.Time)
}

func quantityOf(v reflect.Value) apiresource.Quantity {
	if v.CanAddr() {
		return *v.Addr().Interface().(*apiresource.Quantity)
	}
	return v.Interface().(apiresource.Quantity)
}

func intOrStringOf(v reflect.Value) intstr.IntOrString {
	if v.CanAddr() {
		return *v.Addr().Interface().(*intstr.IntOrString)
	}
	return v.Interface().(intstr.IntOrString)
}
