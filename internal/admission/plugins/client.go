package plugins

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/apiserver/pkg/admission"
	upstreaminit "k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	nodev1client "k8s.io/client-go/kubernetes/typed/node/v1"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// Cluster gives plugins access to the server.
type Cluster interface {
	admission.Cluster
	// CreateNamespace creates a namespace, as the server itself.
	CreateNamespace(ctx context.Context, ns *corev1.Namespace) error
	// Await is Get, but waits until the object exists. It fails with NotFound if the context ends before.
	Await(ctx context.Context, v *resource.Version, namespace, name string) (runtime.Object, error)
	// GenerateName returns base with random characters appended.
	GenerateName(base string) string
}

// initializer initializes plugins with clients, informers and the like.
type initializer struct{ cluster Cluster }

// Initialize implements admission.PluginInitializer.
func (i initializer) Initialize(plugin upstream.Interface) {
	if p, ok := plugin.(upstreaminit.WantsEffectiveVersion); ok {
		p.InspectEffectiveVersion(compatibility.DefaultBuildEffectiveVersion())
	}
	if p, ok := plugin.(upstreaminit.WantsFeatures); ok {
		p.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	}
	if p, ok := plugin.(upstreaminit.WantsExternalKubeClientSet); ok {
		p.SetExternalKubeClientSet(client{cluster: i.cluster})
	}
	if p, ok := plugin.(upstreaminit.WantsExternalKubeInformerFactory); ok {
		p.SetExternalKubeInformerFactory(factory{cluster: i.cluster})
	}
	if p, ok := plugin.(upstreaminit.WantsUnconditionalAuthorizer); ok {
		p.SetUnconditionalAuthorizer(i.cluster.Authorizer())
	}
	if p, ok := plugin.(upstreaminit.WantsRESTMapper); ok {
		p.SetRESTMapper(mapper{cluster: i.cluster})
	}
}

// client is the client of plugins, which look up objects that an informer does not have. Here informers have everything,
// so the result is the same. It also creates namespaces. Other methods are nil.
type client struct {
	kubernetes.Interface
	cluster Cluster
}

func (c client) CoreV1() corev1client.CoreV1Interface { return coreClient{cluster: c.cluster} }
func (c client) NodeV1() nodev1client.NodeV1Interface { return nodeClient{cluster: c.cluster} }

type coreClient struct {
	corev1client.CoreV1Interface
	cluster Cluster
}

func (c coreClient) LimitRanges(namespace string) corev1client.LimitRangeInterface {
	return limitRanges{cluster: c.cluster, namespace: namespace}
}

func (c coreClient) Namespaces() corev1client.NamespaceInterface {
	return namespaces{cluster: c.cluster}
}

type limitRanges struct {
	corev1client.LimitRangeInterface
	cluster   admission.Cluster
	namespace string
}

func (l limitRanges) List(context.Context, metav1.ListOptions) (*corev1.LimitRangeList, error) {
	objects, err := indexer{cluster: l.cluster, kind: corev1.SchemeGroupVersion.WithKind("LimitRange")}.in(l.namespace)
	list := &corev1.LimitRangeList{}
	for _, obj := range objects {
		list.Items = append(list.Items, *obj.(*corev1.LimitRange))
	}
	return list, err
}

type namespaces struct {
	corev1client.NamespaceInterface
	cluster Cluster
}

func (n namespaces) Create(ctx context.Context, ns *corev1.Namespace, _ metav1.CreateOptions) (*corev1.Namespace, error) {
	return ns, n.cluster.CreateNamespace(ctx, ns)
}

func (n namespaces) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	return n.cluster.Namespace(name)
}

type nodeClient struct {
	nodev1client.NodeV1Interface
	cluster admission.Cluster
}

func (n nodeClient) RuntimeClasses() nodev1client.RuntimeClassInterface {
	return runtimeClasses{cluster: n.cluster}
}

type runtimeClasses struct {
	nodev1client.RuntimeClassInterface
	cluster admission.Cluster
}

func (r runtimeClasses) Get(_ context.Context, name string, _ metav1.GetOptions) (*nodev1.RuntimeClass, error) {
	if err := requestable(name); err != nil {
		return nil, err
	}
	obj, err := r.cluster.Get(indexer{cluster: r.cluster, kind: nodev1.SchemeGroupVersion.WithKind("RuntimeClass")}.version(), "", name)
	if err != nil {
		return nil, err
	}
	return obj.(*nodev1.RuntimeClass), nil
}

// requestable returns client-go's error for a name that cannot be requested (k8s.io/client-go/rest.Request.Name):
// plugins of a real server look up objects that are not in their caches with a client.
func requestable(name string) error {
	if name == "" {
		return errors.New("resource name may not be empty")
	}
	if problems := clientrest.IsValidPathSegmentName(name); len(problems) > 0 {
		return fmt.Errorf("invalid resource name %q: %v", name, problems)
	}
	return nil
}
