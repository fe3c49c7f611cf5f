package metrics

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// tables allows clients to request a Table in JSON, as kubectl get does.
type tables struct{}

// AllowsMediaTypeTransform implements negotiation.EndpointRestrictions.
func (tables) AllowsMediaTypeTransform(mimeType, mimeSubType string, target *schema.GroupVersionKind) bool {
	return target == nil || mimeType+"/"+mimeSubType == runtime.ContentTypeJSON && target.Kind == "Table" &&
		target.Group == metav1.GroupName && slices.Contains([]string{"v1", "v1beta1"}, target.Version)
}

// AllowsServerVersion implements negotiation.EndpointRestrictions.
func (tables) AllowsServerVersion(string) bool { return false }

// AllowsStreamSchema implements negotiation.EndpointRestrictions.
func (tables) AllowsStreamSchema(string) bool { return false }

// tableOf returns metrics as a Table, with the columns of metrics-server. include is the parameter includeObject of the request.
func tableOf(obj runtime.Object, include string) (*metav1.Table, error) {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: "Name of the resource"},
		{Name: "cpu", Type: "string", Format: "quantity"},
		{Name: "memory", Type: "string", Format: "quantity"},
		{Name: "Window", Type: "string", Format: "duration"},
	}}
	add := func(name string, usage corev1.ResourceList, w metav1.Duration, object runtime.Object) error {
		row := metav1.TableRow{Cells: []any{name, usage.Cpu().String(), usage.Memory().String(), w.Duration.String()}}
		switch metav1.IncludeObjectPolicy(include) {
		case metav1.IncludeNone:
		case metav1.IncludeObject:
			row.Object.Object = object
		case "", metav1.IncludeMetadata:
			m, err := meta.Accessor(object)
			if err != nil {
				return err
			}
			partial := meta.AsPartialObjectMetadata(m)
			partial.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
			row.Object.Object = partial
		default:
			return apierrors.NewBadRequest(fmt.Sprintf("unrecognized includeObject value: %q", include))
		}
		table.Rows = append(table.Rows, row)
		return nil
	}
	node := func(m *v1beta1.NodeMetrics) error { return add(m.Name, m.Usage, m.Window, m) }
	pod := func(m *v1beta1.PodMetrics) error {
		var usages []corev1.ResourceList
		for _, c := range m.Containers {
			usages = append(usages, c.Usage)
		}
		return add(m.Name, sum(usages...), m.Window, m)
	}
	switch m := obj.(type) {
	case *v1beta1.NodeMetrics:
		return table, node(m)
	case *v1beta1.PodMetrics:
		return table, pod(m)
	case *v1beta1.NodeMetricsList:
		for i := range m.Items {
			if err := node(&m.Items[i]); err != nil {
				return nil, err
			}
		}
	case *v1beta1.PodMetricsList:
		for i := range m.Items {
			if err := pod(&m.Items[i]); err != nil {
				return nil, err
			}
		}
	}
	return table, nil
}
