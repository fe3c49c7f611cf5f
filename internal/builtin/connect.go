package builtin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	discoveryapi "k8s.io/kubernetes/pkg/apis/discovery"
	"k8s.io/kubernetes/pkg/features"
	kubelet "k8s.io/kubernetes/pkg/kubelet/client"
	"k8s.io/kubernetes/pkg/registry/core/node"
	noderest "k8s.io/kubernetes/pkg/registry/core/node/rest"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	podrest "k8s.io/kubernetes/pkg/registry/core/pod/rest"
	"k8s.io/kubernetes/pkg/registry/core/service"
	servicestorage "k8s.io/kubernetes/pkg/registry/core/service/storage"
	nodeutil "k8s.io/kubernetes/pkg/util/node"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// This file has the subresources that a real server forwards to kubelets, pods and services,
// which do not run here. Upstream's code checks the request and finds out where it would go. Then
// the answer is that nothing listens there.

// connection is a subresource that connects the client to something else.
type connection struct {
	options func() runtime.Object // an empty one, of upstream's internal type
	read    bool                  // it is a read, which admission is not called for
	connect func(ctx context.Context, name string, options runtime.Object, upgrade bool) (string, error)
	storage registryrest.Storage // upstream's, which is never called: it says which methods there are
}

// of makes the connection of a version, at a subresource that speaks the kind.
func (c *connection) of(v *resource.Version, kind schema.GroupVersionKind) *resource.Connection {
	out := &resource.Connection{Connect: c.connect, Storage: c.storage}
	out.Options = func(query url.Values, path string) (runtime.Object, error) {
		if out.TakesPath() {
			query["path"] = []string{path}
		}
		options := c.options()
		if err := legacyscheme.ParameterCodec.DecodeParameters(query, v.GroupVersion(), options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return options, nil
	}
	if !c.read {
		out.View = viewAs(kind, v)
	}
	return out
}

// locate returns where the kubelet has the stream of a container.
type locate[O any] func(ctx context.Context, pods pod.ResourceGetter, kubelets kubelet.ConnectionInfoGetter, name string, options O) (
	*url.URL, *kubelet.ConnectionInfo, error)

var (
	podExec        = stream(&podrest.ExecREST{}, pod.ExecLocation, func() *api.PodExecOptions { return &api.PodExecOptions{} })
	podAttach      = stream(&podrest.AttachREST{}, pod.AttachLocation, func() *api.PodAttachOptions { return &api.PodAttachOptions{} })
	podPortForward = stream(&podrest.PortForwardREST{}, pod.PortForwardLocation, func() *api.PodPortForwardOptions { return &api.PodPortForwardOptions{} })
)

// podLog is the log of a container. That of a pod without a node is empty.
var podLog = &connection{
	read:    true,
	storage: &podrest.LogREST{},
	options: func() runtime.Object { return &api.PodLogOptions{} },
	connect: func(ctx context.Context, name string, o runtime.Object, _ bool) (string, error) {
		options := o.(*api.PodLogOptions)
		split := utilfeature.DefaultFeatureGate.Enabled(features.PodLogsQuerySplitStreams)
		if split && options.Stream == nil {
			all := api.LogStreamAll
			options.Stream = &all
		}
		if errs := validation.ValidatePodLogOptions(options, split); len(errs) > 0 {
			return "", apierrors.NewInvalid(api.Kind("PodLogOptions"), name, errs)
		}
		location, _, err := pod.LogLocation(ctx, getter{podResource}, kubelets{}, name, options)
		if err != nil || location == nil {
			return "", err
		}
		return "", fmt.Errorf("Get %q: %w", location, nobodyAt(location, noKubelet))
	},
}

// mayConnect refuses a stream to a user who may not create the subresource. A WebSocket begins
// with a GET, and a user who may only read must not be able to run commands in a container.
func mayConnect(ctx context.Context) error {
	if !utilfeature.DefaultFeatureGate.Enabled(features.AuthorizePodWebsocketUpgradeCreatePermission) {
		return nil
	}
	info, ok := apirequest.RequestInfoFrom(ctx)
	if !ok || info.Verb == "create" {
		return nil // the filter has authorized it
	}
	attributes, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("error building authorizer attributes: %w", err))
	}
	decision, reason, err := contextAuthorizer{}.Authorize(ctx, creating{attributes})
	if err != nil {
		return err
	}
	if decision != authorizer.DecisionAllow {
		return apierrors.NewForbidden(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name, errors.New(reason))
	}
	return nil
}

// creating shows a request with the verb create.
type creating struct{ authorizer.Attributes }

// GetVerb implements authorizer.Attributes.
func (creating) GetVerb() string { return "create" }

// stream makes a connection to a container, through its kubelet.
func stream[O runtime.Object](storage registryrest.Storage, locate locate[O], options func() O) *connection {
	return &connection{
		storage: storage,
		options: func() runtime.Object { return options() },
		connect: func(ctx context.Context, name string, o runtime.Object, upgrade bool) (string, error) {
			if err := mayConnect(ctx); err != nil {
				return "", err
			}
			location, _, err := locate(ctx, getter{podResource}, kubelets{}, name, o.(O))
			if err != nil {
				return "", err
			}
			if !upgrade {
				return "", apierrors.NewBadRequest("Upgrade request required")
			}
			return "", fmt.Errorf("error dialing backend: %w", nobodyAt(location, noKubelet))
		},
	}
}

var (
	podProxy = proxy(&podrest.ProxyREST{}, func() runtime.Object { return &api.PodProxyOptions{} }, func(ctx context.Context, name string) (*url.URL, error) {
		location, _, err := pod.ResourceLocation(ctx, getter{podResource}, nil, name)
		return location, err
	})
	serviceProxy = proxy(&service.ProxyREST{}, func() runtime.Object { return &api.ServiceProxyOptions{} }, func(ctx context.Context, name string) (*url.URL, error) {
		c, err := ClusterFrom(ctx)
		if err != nil {
			return nil, err
		}
		services, _, _, err := servicestorage.NewREST(overCluster{}, api.IPv4Protocol, nil, nil, endpointSlices{c}, getter{podResource}, nil)
		if err != nil {
			return nil, err
		}
		location, _, err := services.ResourceLocation(ctx, name)
		return location, err
	})
	nodeProxy = proxy(&noderest.ProxyREST{}, func() runtime.Object { return &api.NodeProxyOptions{} }, func(ctx context.Context, id string) (*url.URL, error) {
		_, name, _, valid := utilnet.SplitSchemeNamePort(id)
		if valid {
			// Upstream looks the name up in the DNS, to keep clients away from the server's own
			// network. Here nothing can be reached anyway.
			info, err := kubelets{}.GetConnectionInfo(ctx, types.NodeName(name))
			if err != nil {
				return nil, err
			}
			if net.ParseIP(info.Hostname) == nil {
				return &url.URL{Host: net.JoinHostPort(info.Hostname, info.Port)}, nil
			}
		}
		location, _, err := node.ResourceLocation(getter{nodeResource}, kubelets{}, nil, ctx, id)
		return location, err
	})
)

// proxy makes a connection to a pod, a service or a node.
func proxy(storage registryrest.Storage, options func() runtime.Object, locate func(ctx context.Context, name string) (*url.URL, error)) *connection {
	return &connection{storage: storage, options: options, connect: func(ctx context.Context, name string, _ runtime.Object, _ bool) (string, error) {
		location, err := locate(ctx, name)
		if err != nil {
			return "", err
		}
		return "", apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: %v",
			nobodyAt(location, noBackends)))
	}}
}

// nobodyAt returns the error that a client of a real cluster gets if nothing listens at an
// address, and says that nothing does in fakecluster.
func nobodyAt(location *url.URL, missing string) error {
	host := location.Host
	if location.Port() == "" {
		port := "80"
		if location.Scheme == "https" {
			port = "443"
		}
		host = net.JoinHostPort(location.Hostname(), port)
	}
	return fmt.Errorf("dial tcp %s: connect: connection refused; in fakecluster %s", host, missing)
}

// kubelets has the addresses of the nodes' kubelets. No connection is made to them.
type kubelets struct{}

// preferredAddresses are the default of kube-apiserver's --kubelet-preferred-address-types.
var preferredAddresses = []corev1.NodeAddressType{
	corev1.NodeHostName, corev1.NodeInternalDNS, corev1.NodeInternalIP, corev1.NodeExternalDNS, corev1.NodeExternalIP,
}

// kubeletPort is the port of a kubelet whose node does not publish one.
const kubeletPort = 10250

// GetConnectionInfo implements upstream's kubelet.ConnectionInfoGetter.
func (kubelets) GetConnectionInfo(ctx context.Context, name types.NodeName) (*kubelet.ConnectionInfo, error) {
	obj, err := getter{nodeResource}.Get(ctx, string(name), nil)
	if err != nil {
		return nil, err
	}
	n := &corev1.Node{}
	if err := legacyscheme.Scheme.Convert(obj, n, nil); err != nil {
		return nil, err
	}
	host, err := nodeutil.GetPreferredNodeAddress(n, preferredAddresses)
	if err != nil {
		return nil, err
	}
	port := n.Status.DaemonEndpoints.KubeletEndpoint.Port
	if port <= 0 {
		port = kubeletPort
	}
	return &kubelet.ConnectionInfo{Scheme: "https", Hostname: host, Port: strconv.Itoa(int(port)), NodeFeatures: n.Status.DeclaredFeatures}, nil
}

// endpointSlices looks up the EndpointSlices of a cluster for upstream's storage of
// services.
type endpointSlices struct{ cluster Cluster }

// GetEndpointSlices implements upstream's proxy.EndpointSliceGetter.
func (e endpointSlices) GetEndpointSlices(namespace, service string) ([]*discoveryv1.EndpointSlice, error) {
	all, err := e.cluster.Objects(discoveryapi.Resource("endpointslices"), namespace)
	if err != nil {
		return nil, err
	}
	var found []*discoveryv1.EndpointSlice
	for _, obj := range all {
		if obj.(metav1.Object).GetLabels()[discoveryv1.LabelServiceName] != service {
			continue
		}
		slice := &discoveryv1.EndpointSlice{}
		if err := legacyscheme.Scheme.Convert(obj, slice, nil); err != nil {
			return nil, err
		}
		found = append(found, slice)
	}
	return found, nil
}
