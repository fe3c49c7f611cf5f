package builtin

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	coreapi "k8s.io/kubernetes/pkg/apis/core"
	networkingapi "k8s.io/kubernetes/pkg/apis/networking"
	storageapi "k8s.io/kubernetes/pkg/apis/storage"
)

// What "kubectl get" shows differs between versions.
func TestTablesOfOlderVersions(t *testing.T) {
	isDefault := func(kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "a", Annotations: map[string]string{kind + ".kubernetes.io/is-default-class": "true"}}
	}
	node := &coreapi.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	node.Status.NodeInfo = coreapi.NodeSystemInfo{KernelVersion: "6.1", Architecture: "arm64"}
	for _, test := range []struct {
		rule   string
		obj    runtime.Object
		column int
		want   map[uint]string // by minor version: the column and its cell
	}{
		{"the default StorageClass", &storageapi.StorageClass{ObjectMeta: isDefault("storageclass")}, 0,
			map[uint]string{34: "Name a (default)", 35: "Name a (default)", 36: "Name a (default)", 37: "Name a"}},
		{"another StorageClass", &storageapi.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, 0, map[uint]string{34: "Name a", 37: "Name a"}},
		{"the default IngressClass", &networkingapi.IngressClass{ObjectMeta: isDefault("ingressclass")}, 0,
			map[uint]string{34: "Name a", 35: "Name a", 36: "Name a (default)", 37: "Name a (default)"}},
		{"the kernel of a Node", node, kernelVersion,
			map[uint]string{34: "Kernel-Version 6.1", 35: "Kernel-Version 6.1", 36: "Kernel-Version 6.1 (arm64)", 37: "Kernel-Version 6.1 (arm64)"}},
		{"the secrets of a ServiceAccount", &coreapi.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Secrets: []coreapi.ObjectReference{{Name: "s"}}}, 1,
			map[uint]string{34: "Secrets 1", 35: "Age <unknown>", 36: "Age <unknown>", 37: "Age <unknown>"}},
	} {
		for minor, want := range test.want {
			table, err := printer().ConvertToTable(t.Context(), test.obj, &metav1.TableOptions{})
			if err != nil {
				t.Fatal(err)
			}
			asIn(version.MajorMinor(1, minor), test.obj, table)
			if got := fmt.Sprint(table.ColumnDefinitions[test.column].Name, " ", table.Rows[0].Cells[test.column]); got != want {
				t.Errorf("%s in 1.%d: %q, want %q", test.rule, minor, got, want)
			}
		}
	}
	for minor, want := range map[uint]int{34: 3, 35: 2} {
		table, err := printer().ConvertToTable(t.Context(), &coreapi.ServiceAccountList{}, &metav1.TableOptions{})
		if err != nil {
			t.Fatal(err)
		}
		asIn(version.MajorMinor(1, minor), &coreapi.ServiceAccountList{}, table)
		if got := len(table.ColumnDefinitions); got != want {
			t.Errorf("the Table of no ServiceAccounts has %d columns in 1.%d, want %d", got, minor, want)
		}
	}
}
