package builtin

import (
	"context"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
)

// column is a column of the Table of a kind.
type column struct {
	metav1.TableColumnDefinition
	cell func(runtime.Object) any
}

func accessor(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(err) // every built-in kind has metadata
	}
	return m
}

var metaDoc = metav1.ObjectMeta{}.SwaggerDoc()

var (
	nameColumn = column{
		metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: metaDoc["name"]},
		func(obj runtime.Object) any { return accessor(obj).GetName() },
	}
	ageColumn = column{
		metav1.TableColumnDefinition{Name: "Age", Type: "string", Description: metaDoc["creationTimestamp"]},
		func(obj runtime.Object) any { return since(accessor(obj).GetCreationTimestamp()) },
	}
)

func since(t metav1.Time) string { return metatable.ConvertToHumanReadableDateType(t) }

// textColumn returns a column of strings or counts.
func textColumn[T runtime.Object](name, description string, priority int32, cell func(T) any) column {
	return column{
		metav1.TableColumnDefinition{Name: name, Type: "string", Description: description, Priority: priority},
		func(obj runtime.Object) any { return cell(obj.(T)) },
	}
}

var namespaceColumns = []column{nameColumn,
	textColumn("Status", "The status of the namespace", 0, func(ns *corev1.Namespace) any { return string(ns.Status.Phase) }),
	ageColumn,
}

var configMapColumns = []column{nameColumn,
	textColumn("Data", corev1.ConfigMap{}.SwaggerDoc()["data"], 0, func(c *corev1.ConfigMap) any { return int64(len(c.Data) + len(c.BinaryData)) }),
	ageColumn,
}

var secretColumns = []column{nameColumn,
	textColumn("Type", corev1.Secret{}.SwaggerDoc()["type"], 0, func(s *corev1.Secret) any { return string(s.Type) }),
	textColumn("Data", corev1.Secret{}.SwaggerDoc()["data"], 0, func(s *corev1.Secret) any { return int64(len(s.Data)) }),
	ageColumn,
}

var serviceAccountColumns = []column{nameColumn,
	textColumn("Secrets", corev1.ServiceAccount{}.SwaggerDoc()["secrets"], 0, func(s *corev1.ServiceAccount) any { return int64(len(s.Secrets)) }),
	ageColumn,
}

var leaseColumns = []column{nameColumn,
	textColumn("Holder", coordinationv1.LeaseSpec{}.SwaggerDoc()["holderIdentity"], 0, func(l *coordinationv1.Lease) any {
		if l.Spec.HolderIdentity == nil {
			return ""
		}
		return *l.Spec.HolderIdentity
	}),
	ageColumn,
}

var eventDoc = corev1.Event{}.SwaggerDoc()

var eventColumns = []column{
	textColumn("Last Seen", eventDoc["lastTimestamp"], 0, func(e *corev1.Event) any {
		if e.LastTimestamp.IsZero() {
			return since(metav1.NewTime(e.EventTime.Time))
		}
		return since(e.LastTimestamp)
	}),
	textColumn("Type", eventDoc["type"], 0, func(e *corev1.Event) any { return e.Type }),
	textColumn("Reason", eventDoc["reason"], 0, func(e *corev1.Event) any { return e.Reason }),
	textColumn("Object", eventDoc["involvedObject"], 0, func(e *corev1.Event) any {
		target := strings.ToLower(e.InvolvedObject.Kind)
		if e.InvolvedObject.Name != "" {
			target += "/" + e.InvolvedObject.Name
		}
		return target
	}),
	textColumn("Subobject", corev1.ObjectReference{}.SwaggerDoc()["fieldPath"], 1, func(e *corev1.Event) any { return e.InvolvedObject.FieldPath }),
	textColumn("Source", eventDoc["source"], 1, func(e *corev1.Event) any {
		source := []string{e.Source.Component}
		if e.Source.Host != "" {
			source = append(source, e.Source.Host)
		}
		return strings.Join(source, ", ")
	}),
	textColumn("Message", eventDoc["message"], 0, func(e *corev1.Event) any { return strings.TrimSpace(e.Message) }),
	textColumn("First Seen", eventDoc["firstTimestamp"], 1, func(e *corev1.Event) any {
		if e.FirstTimestamp.IsZero() {
			return since(metav1.NewTime(e.EventTime.Time))
		}
		return since(e.FirstTimestamp)
	}),
	textColumn("Count", eventDoc["count"], 1, func(e *corev1.Event) any {
		if e.Count == 0 {
			return int64(1)
		}
		return int64(e.Count)
	}),
	{
		metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Priority: 1, Description: metaDoc["name"]},
		func(obj runtime.Object) any { return accessor(obj).GetName() },
	},
}

// tableOf returns a TableConvertor for single objects.
func tableOf(columns []column) registryrest.TableConvertor { return table(columns) }

type table []column

// ConvertToTable implements rest.TableConvertor for one object.
func (t table) ConvertToTable(_ context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	out := &metav1.Table{}
	opts, ok := options.(*metav1.TableOptions)
	if !ok {
		return nil, fmt.Errorf("unexpected TableOptions, got %T", options)
	}
	row := metav1.TableRow{Object: runtime.RawExtension{Object: obj}}
	for _, c := range t {
		if !opts.NoHeaders {
			out.ColumnDefinitions = append(out.ColumnDefinitions, c.TableColumnDefinition)
		}
		row.Cells = append(row.Cells, c.cell(obj))
	}
	out.Rows = []metav1.TableRow{row}
	return out, nil
}
