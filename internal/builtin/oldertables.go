package builtin

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	coreapi "k8s.io/kubernetes/pkg/apis/core"
	networkingapi "k8s.io/kubernetes/pkg/apis/networking"
	storageapi "k8s.io/kubernetes/pkg/apis/storage"
	storageutil "k8s.io/kubernetes/pkg/apis/storage/util"
)

// tablesUntil has changes that turn Tables of upstream's printers into those of older releases, by the first release
// with the new Tables. Objects are internal. A change alters the cells of an object of its kind, and the columns of the
// kind.
var tablesUntil = []struct {
	minor   uint
	cells   func(obj any, cells []any) []any
	columns func(obj any, columns []metav1.TableColumnDefinition) []metav1.TableColumnDefinition // nil: they are the same
}{
	{37, func(obj any, cells []any) []any {
		if class, ok := obj.(*storageapi.StorageClass); ok && storageutil.IsDefaultAnnotation(class.ObjectMeta) {
			cells[0] = class.Name + " (default)" // and not only the newest of them, in lists
		}
		return cells
	}, nil},
	{36, func(obj any, cells []any) []any {
		if class, ok := obj.(*networkingapi.IngressClass); ok {
			cells[0] = class.Name
		}
		return cells
	}, nil},
	{36, func(obj any, cells []any) []any {
		node, ok := obj.(*coreapi.Node)
		if !ok || len(cells) <= kernelVersion {
			return cells
		}
		if text, ok := cells[kernelVersion].(string); ok {
			cells[kernelVersion] = strings.TrimSuffix(text, " ("+node.Status.NodeInfo.Architecture+")")
		}
		return cells
	}, nil},
	{35, func(obj any, cells []any) []any {
		if account, ok := obj.(*coreapi.ServiceAccount); ok {
			return slices.Insert(cells, 1, any(int64(len(account.Secrets))))
		}
		return cells
	}, func(obj any, columns []metav1.TableColumnDefinition) []metav1.TableColumnDefinition {
		switch obj.(type) {
		case *coreapi.ServiceAccount, *coreapi.ServiceAccountList:
			secrets := metav1.TableColumnDefinition{Name: "Secrets", Type: "string", Description: corev1.ServiceAccount{}.SwaggerDoc()["secrets"]}
			return slices.Insert(slices.Clone(columns), 1, secrets)
		}
		return columns
	}},
}

// kernelVersion is the column of Nodes with the version of the kernel.
const kernelVersion = 8

// asIn changes the Table of an object or a list to that of an older release.
func asIn(release *version.Version, obj any, table *metav1.Table) {
	for _, change := range tablesUntil {
		if release.AtLeast(version.MajorMinor(1, change.minor)) {
			continue
		}
		for i := range table.Rows {
			table.Rows[i].Cells = change.cells(table.Rows[i].Object.Object, table.Rows[i].Cells)
		}
		if change.columns != nil && len(table.ColumnDefinitions) > 0 {
			table.ColumnDefinitions = change.columns(obj, table.ColumnDefinitions)
		}
	}
}
