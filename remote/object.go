package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// Ref names an object. [Named] makes one.
type Ref struct{ APIVersion, Kind, Namespace, Name string }

// Named returns the name of an object, for [Cluster.History], [Cluster.ObjectAt] and [Cluster.WaitFor].
func Named(apiVersion, kind, namespace, name string) *Ref {
	return &Ref{apiVersion, kind, namespace, name}
}

// refOf returns the Ref of an object. If the object does not name its kind, Kind is the name of its Go type,
// which the host maps to a kind.
func refOf(obj any) (r Ref, err error) {
	if ref, ok := obj.(*Ref); ok && ref != nil {
		return *ref, nil
	}
	content, err := encoded(obj)
	if err != nil {
		return r, err
	}
	var head struct {
		APIVersion, Kind string
		Metadata         struct{ Namespace, Name string }
	}
	if err := json.Unmarshal(content, &head); err != nil {
		return r, err
	}
	if head.Metadata.Name == "" {
		return r, fmt.Errorf("the %s does not have a name", head.Kind)
	}
	return Ref{head.APIVersion, head.Kind, head.Metadata.Namespace, head.Metadata.Name}, nil
}

// body returns the ref in the format of the control API.
func (r Ref) body() map[string]string {
	return map[string]string{"apiVersion": r.APIVersion, "kind": r.Kind, "namespace": r.Namespace, "name": r.Name}
}

// encoded returns an object as JSON. If it does not name its kind, kind is the name of its Go type, such as
// k8s.io/api/apps/v1.Deployment.
func encoded(obj any) (json.RawMessage, error) {
	if obj == nil {
		return nil, errors.New("the object is nil")
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("a %T is not a Kubernetes object", obj)
	}
	if _, ok := fields["kind"]; ok {
		return text, nil
	}
	t := reflect.TypeOf(obj)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.PkgPath() == "" {
		return nil, errors.New("the object does not name its kind: set apiVersion and kind")
	}
	if fields["kind"], err = json.Marshal(t.PkgPath() + "." + t.Name()); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// fill sets an object of the test to the content of an object in the cluster.
func fill(obj any, content json.RawMessage) error {
	v := reflect.ValueOf(obj)
	if _, isRef := obj.(*Ref); isRef || v.Kind() != reflect.Pointer && v.Kind() != reflect.Map {
		return nil
	}
	if v.Kind() == reflect.Map {
		v.Clear()
		pointer := reflect.New(v.Type())
		pointer.Elem().Set(v)
		return json.Unmarshal(content, pointer.Interface())
	}
	v.Elem().SetZero()
	return json.Unmarshal(content, obj)
}
