package builtin

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestCellsOfATable(t *testing.T) {
	hourAgo := metav1.NewTime(time.Now().Add(-time.Hour))
	m := metav1.ObjectMeta{Name: "a", CreationTimestamp: hourAgo}
	holder := "me"
	for _, c := range []struct {
		name, resource string
		obj            runtime.Object
		want           []any
	}{
		{"a ConfigMap counts text and bytes", "configmaps", &corev1.ConfigMap{ObjectMeta: m, Data: map[string]string{"a": ""}, BinaryData: map[string][]byte{"b": nil}},
			[]any{"a", int64(2), "60m"}},
		{"a Secret has its type", "secrets", &corev1.Secret{ObjectMeta: m, Type: "x", Data: map[string][]byte{"b": nil}}, []any{"a", "x", int64(1), "60m"}},
		{"a ServiceAccount has its name", "serviceaccounts", &corev1.ServiceAccount{ObjectMeta: m}, []any{"a", "60m"}},
		{"a Lease has its holder", "leases", &coordinationv1.Lease{ObjectMeta: m, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}, []any{"a", "me", "60m"}},
		{"a Lease without a holder", "leases", &coordinationv1.Lease{ObjectMeta: m}, []any{"a", "", "60m"}},
		{"a Namespace has its phase", "namespaces", &corev1.Namespace{ObjectMeta: m, Status: corev1.NamespaceStatus{Phase: "Active"}}, []any{"a", "Active", "60m"}},
		{"the age of an object without a creationTimestamp is unknown", "configmaps", &corev1.ConfigMap{}, []any{"", int64(0), "<unknown>"}},
		{"an Event has its object and who reported it", "events", &corev1.Event{ObjectMeta: m, LastTimestamp: hourAgo, Type: "Normal", Reason: "Done", Message: " text\n",
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "p", FieldPath: "spec"}, Source: corev1.EventSource{Component: "kubelet", Host: "node"}, Count: 3},
			[]any{"60m", "Normal", "Done", "pod/p", "spec", "kubelet, node", "text", "<unknown>", int64(3), "a"}},
		{"an Event of the newer form has one time, and counts as one", "events", &corev1.Event{ObjectMeta: m, EventTime: metav1.NewMicroTime(hourAgo.Time),
			InvolvedObject: corev1.ObjectReference{Kind: "Pod"}},
			[]any{"60m", "", "", "pod", "", "", "", "60m", int64(1), "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := builtIn(t, c.resource, false).Storage
			table, err := v.Tables.Convertor.ConvertToTable(context.Background(), internal(t, v, c.obj), &metav1.TableOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, table.Rows[0].Cells); diff != "" {
				t.Errorf("cells (-want +got):\n%s", diff)
			}
			if len(table.ColumnDefinitions) != len(c.want) {
				t.Errorf("%d columns for %d cells", len(table.ColumnDefinitions), len(c.want))
			}
		})
	}
}

func TestATableWithoutHeadersHasNoColumns(t *testing.T) {
	v := builtIn(t, "configmaps", false).Storage
	table, err := v.Tables.Convertor.ConvertToTable(context.Background(), v.Codec.New(), &metav1.TableOptions{NoHeaders: true})
	if err != nil || len(table.ColumnDefinitions) != 0 || len(table.Rows) != 1 {
		t.Errorf("%+v, %v", table, err)
	}
}
