package builtin

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/printers"
	printersinternal "k8s.io/kubernetes/pkg/printers/internalversion"
	printerstorage "k8s.io/kubernetes/pkg/printers/storage"
)

// printer makes the Tables of all kinds that have columns of their own.
var printer = sync.OnceValue(func() registryrest.TableConvertor {
	return printerstorage.TableConvertor{TableGenerator: printers.NewTableGenerator().With(printersinternal.AddHandlers)}
})

// printed makes a Table by upstream's printers.
type printed struct{}

// ConvertToTable implements rest.TableConvertor.
func (printed) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	table, err := printer().ConvertToTable(ctx, obj, options)
	if err != nil {
		return nil, fmt.Errorf("columns of %T: %w", obj, err)
	}
	return table, nil
}

// plain makes the Table of a kind without columns of its own: names and creation times.
func plain(group, plural string) registryrest.TableConvertor {
	return registryrest.NewDefaultTableConvertor(schema.GroupResource{Group: group, Resource: plural})
}
