package metrics

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints"
	apidiscovery "k8s.io/apiserver/pkg/endpoints/discovery"
	apiopenapi "k8s.io/apiserver/pkg/endpoints/openapi"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/clientset/versioned/scheme"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/openapi"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// documents answers requests below /openapi as metrics-server does. All clusters share it, because its documents are
// constant.
var documents = sync.OnceValue(func() http.Handler {
	types := &resource.OpenAPITypes{
		V3: builtin.OpenAPITypes.V3, V2: builtin.OpenAPITypes.V2,
		Names: sync.OnceValue(func() *apiopenapi.DefinitionNamer { return apiopenapi.NewDefinitionNamer(scheme.Scheme) }),
	}
	gv := v1beta1.SchemeGroupVersion
	return openapi.HandlerOf("Kubernetes metrics-server", types,
		openapi.Service{Path: "apis/" + gv.Group, Install: func(c *restful.Container) error {
			c.Add(apidiscovery.NewAPIGroupHandler(scheme.Codecs, metav1.APIGroup{Name: gv.Group}).WebService())
			return nil
		}},
		openapi.Service{Path: "apis/" + gv.String(), Install: install},
	)
})

// install adds the paths of the version to a container, as upstream's installer describes them.
func install(c *restful.Container) error {
	s := scheme.Scheme
	group := &endpoints.APIGroupVersion{
		Storage: map[string]registryrest.Storage{
			"nodes": described{item: &v1beta1.NodeMetrics{}, list: &v1beta1.NodeMetricsList{}},
			"pods":  described{item: &v1beta1.PodMetrics{}, list: &v1beta1.PodMetricsList{}, namespaced: true},
		},
		Root: "/apis", GroupVersion: v1beta1.SchemeGroupVersion, OptionsExternalVersion: &schema.GroupVersion{Version: "v1"},
		Serializer: scheme.Codecs, ParameterCodec: runtime.NewParameterCodec(s),
		Typer: s, Creater: s, Convertor: s, ConvertabilityChecker: s, Defaulter: s,
		UnsafeConvertor:            runtime.UnsafeObjectConvertor(s),
		TypeConverter:              managedfields.NewDeducedTypeConverter(), // never called
		Namer:                      runtime.Namer(meta.NewAccessor()),
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
	}
	_, _, err := group.InstallREST(c)
	return err
}

// described is a placeholder for the storage of a kind, by whose methods upstream's installer finds the verbs. The
// installer does not call them.
type described struct {
	item, list runtime.Object
	namespaced bool
}

var errDescribed = errors.New("only described for OpenAPI")

// New implements registryrest.Storage.
func (d described) New() runtime.Object { return d.item }

// Destroy implements registryrest.Storage.
func (described) Destroy() {}

// NewList implements registryrest.Lister.
func (d described) NewList() runtime.Object { return d.list }

// NamespaceScoped implements registryrest.Scoper.
func (d described) NamespaceScoped() bool { return d.namespaced }

// GetSingularName implements registryrest.SingularNameProvider.
func (described) GetSingularName() string { return "" }

// Get implements registryrest.Getter.
func (described) Get(context.Context, string, *metav1.GetOptions) (runtime.Object, error) {
	return nil, errDescribed
}

// List implements registryrest.Lister.
func (described) List(context.Context, *metainternalversion.ListOptions) (runtime.Object, error) {
	return nil, errDescribed
}

// ConvertToTable implements registryrest.TableConvertor.
func (described) ConvertToTable(context.Context, runtime.Object, runtime.Object) (*metav1.Table, error) {
	return nil, errDescribed
}
