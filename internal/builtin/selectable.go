package builtin

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// selectable has the fields that a field selector may name, in addition to metadata.name.
type selectable map[string]func(runtime.Object) string

// eventFields are the selectable fields of events. kubectl describe finds the events of an object
// by them.
var eventFields = func() selectable {
	fields := selectable{"metadata.namespace": namespaceOf}
	for name, value := range map[string]func(*corev1.Event) string{
		"involvedObject.kind":            func(e *corev1.Event) string { return e.InvolvedObject.Kind },
		"involvedObject.namespace":       func(e *corev1.Event) string { return e.InvolvedObject.Namespace },
		"involvedObject.name":            func(e *corev1.Event) string { return e.InvolvedObject.Name },
		"involvedObject.uid":             func(e *corev1.Event) string { return string(e.InvolvedObject.UID) },
		"involvedObject.apiVersion":      func(e *corev1.Event) string { return e.InvolvedObject.APIVersion },
		"involvedObject.resourceVersion": func(e *corev1.Event) string { return e.InvolvedObject.ResourceVersion },
		"involvedObject.fieldPath":       func(e *corev1.Event) string { return e.InvolvedObject.FieldPath },
		"reason":                         func(e *corev1.Event) string { return e.Reason },
		"reportingComponent":             func(e *corev1.Event) string { return e.ReportingController },
		"source":                         sourceOf,
		"type":                           func(e *corev1.Event) string { return e.Type },
	} {
		fields[name] = func(obj runtime.Object) string { return value(obj.(*corev1.Event)) }
	}
	return fields
}()

// sourceOf returns the component that reported an event. Events of the newer form have it in
// another field.
func sourceOf(e *corev1.Event) string {
	if e.Source.Component != "" {
		return e.Source.Component
	}
	return e.ReportingController
}

var secretFields = selectable{
	"metadata.namespace": namespaceOf,
	"type":               func(obj runtime.Object) string { return string(obj.(*corev1.Secret).Type) },
}

func namespaceOf(obj runtime.Object) string { return accessor(obj).GetNamespace() }
