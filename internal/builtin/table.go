package builtin

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/printers"
	printersinternal "k8s.io/kubernetes/pkg/printers/internalversion"
	printerstorage "k8s.io/kubernetes/pkg/printers/storage"

	"github.com/fakecluster/fakecluster/internal/release"
)

// printer has upstream's printers of all kinds with columns of their own.
var printer = sync.OnceValue(func() registryrest.TableConvertor {
	return printerstorage.TableConvertor{TableGenerator: printers.NewTableGenerator().With(printersinternal.AddHandlers)}
})

// printed converts to Tables by upstream's printers.
type printed struct{}

// ConvertToTable implements rest.TableConvertor.
func (printed) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	table, err := printer().ConvertToTable(ctx, obj, options)
	if err != nil {
		return nil, fmt.Errorf("columns of %T: %w", obj, err)
	}
	if release.Older() != "" {
		asIn(release.Version(), obj, table)
	}
	return table, nil
}

// printedLists returns a function that converts lists of a kind to Tables by upstream's printers.
func printedLists(scheme *runtime.Scheme, kind schema.GroupVersionKind) func(context.Context, []runtime.Object, *metav1.TableOptions) (*metav1.Table, error) {
	return func(ctx context.Context, objects []runtime.Object, options *metav1.TableOptions) (*metav1.Table, error) {
		list, err := scheme.New(kind)
		if err != nil {
			return nil, fmt.Errorf("columns of %s: %w", kind, err)
		}
		if err := meta.SetList(list, objects); err != nil {
			return nil, fmt.Errorf("columns of %s: %w", kind, err)
		}
		return printed{}.ConvertToTable(ctx, list, options)
	}
}

// plainTable is upstream's convertor for kinds without columns of their own. Its Tables have names and creation times, and
// their rows are null if there are no objects.
type plainTable struct{ registryrest.TableConvertor }

// plain converts a kind without columns of its own to Tables.
func plain(group, plural string) registryrest.TableConvertor {
	return plainTable{registryrest.NewDefaultTableConvertor(schema.GroupResource{Group: group, Resource: plural})}
}
