package typed

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Tree returns the JSON of an object as a tree. The object is a pointer to a struct.
func Tree(obj any) (map[string]any, error) {
	at, p, err := memoryOf(obj)
	if err != nil {
		return nil, err
	}
	tree, err := p.tree(at)
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

func (p *plan) tree(at unsafe.Pointer) (any, error) {
	switch p.kind {
	case isText:
		return textAt(at), nil
	case isBool:
		return boolAt(at), nil
	case isInteger:
		return p.integerAt(at), nil
	case isUnsigned:
		return int64(p.unsignedAt(at)), nil
	case isFloat:
		return p.value(at).Float(), nil
	case isPointer:
		to := addressAt(at)
		if to == nil {
			return nil, nil
		}
		return p.elem.tree(to)
	case isStruct:
		return p.treeOfFields(at)
	case isList:
		all := listAt(at)
		if all.first == nil {
			return nil, nil
		}
		list := make([]any, all.len)
		for i := range list {
			var err error
			if list[i], err = p.elem.tree(p.item(all, i)); err != nil {
				return nil, err
			}
		}
		return list, nil
	case isMap:
		return p.treeOfEntries(at)
	}
	return p.scalar(at)
}

func (p *plan) treeOfFields(of unsafe.Pointer) (any, error) {
	m := make(map[string]any, p.setFields(of))
	for i := range p.fields {
		f := &p.fields[i]
		if f.omitEmpty && f.isUnset(of) || f.isLeftOut(of) {
			continue
		}
		tree, err := f.plan.tree(f.at(of))
		if err != nil {
			return nil, err
		}
		m[f.name] = tree
	}
	return m, nil
}

func (p *plan) treeOfEntries(at unsafe.Pointer) (any, error) {
	if addressAt(at) == nil {
		return nil, nil
	}
	m := make(map[string]any, p.lenOfMap(at))
	if texts, ok := p.textsAt(at); ok {
		for key, text := range texts {
			m[key] = text
		}
		return m, nil
	}
	if quantities, ok := p.quantitiesAt(at); ok {
		for key, q := range quantities {
			m[key] = q.String() // of a copy: String keeps the text in it
		}
		return m, nil
	}
	var err error
	p.entries(at, func(name string, _ reflect.Value, value unsafe.Pointer) bool {
		m[name], err = p.elem.tree(value)
		return err == nil
	})
	return m, err
}

// scalar returns the JSON of a value that is neither a map nor a list.
func (p *plan) scalar(at unsafe.Pointer) (any, error) {
	switch p.kind {
	case isBytes:
		if addressAt(at) == nil {
			return nil, nil
		}
		return base64.StdEncoding.EncodeToString(bytesAt(at)), nil
	case isTime:
		t := timeAt(at)
		if t.IsZero() {
			return nil, nil
		}
		return t.UTC().Format(time.RFC3339), nil
	case isMicroTime:
		t := timeAt(at)
		if t.IsZero() {
			return nil, nil
		}
		return t.UTC().Format(metav1.RFC3339Micro), nil
	case isQuantity:
		q := *quantityAt(at) // a copy: String keeps the text in it
		return q.String(), nil
	case isIntOrString:
		switch is := intOrStringAt(at); is.Type {
		case intstr.Int:
			return int64(is.IntVal), nil
		case intstr.String:
			return is.StrVal, nil
		default:
			return nil, fmt.Errorf("impossible IntOrString.Type")
		}
	}
	text, err := json.Marshal(p.pointer(at))
	if err != nil {
		return nil, err
	}
	var tree any
	err = utiljson.Unmarshal(text, &tree)
	return tree, err
}
