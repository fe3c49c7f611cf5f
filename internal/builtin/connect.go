package builtin

import (
	"context"
	"fmt"
	"net"
	"net/http"
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
	genericrest "k8s.io/apiserver/pkg/registry/generic/rest"
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

// This file has the subresources that a server forwards to kubelets, pods and services. Upstream's code checks the
// request and determines its target. If nothing lives in the cluster, the error is that nothing listens there.

// connection is a subresource that connects the client to something else.
type connection struct {
	options func() runtime.Object // an empty one, of upstream's internal type
	read    bool                  // a read, for which admission is not called
	connect func(ctx context.Context, name string, options runtime.Object, upgrade bool, responder registryrest.Responder) (http.Handler, error)
	storage registryrest.Storage // of upstream; it has the HTTP methods
}

// connectionOf returns the connection of a version, at a subresource with options of the kind.
func (c *connection) connectionOf(v *resource.Version, kind schema.GroupVersionKind) *resource.Connection {
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

// locate returns the URL of a container's stream at its kubelet.
type locate[O any] func(ctx context.Context, pods pod.ResourceGetter, kubelets kubelet.ConnectionInfoGetter, name string, options O) (
	*url.URL, *kubelet.ConnectionInfo, error)

var (
	podExec = stream(&podrest.ExecREST{Store: getter{podResource}, KubeletConn: kubelets{}, Authorizer: contextAuthorizer{}},
		pod.ExecLocation, func() *api.PodExecOptions { return &api.PodExecOptions{} })
	podAttach = stream(&podrest.AttachREST{Store: getter{podResource}, KubeletConn: kubelets{}, Authorizer: contextAuthorizer{}},
		pod.AttachLocation, func() *api.PodAttachOptions { return &api.PodAttachOptions{} })
	podPortForward = stream(&podrest.PortForwardREST{Store: getter{podResource}, KubeletConn: kubelets{}, Authorizer: contextAuthorizer{}},
		pod.PortForwardLocation, func() *api.PodPortForwardOptions { return &api.PodPortForwardOptions{} })
)

// podLog is the log of a container. The log of a pod without a node is empty.
var podLog = &connection{
	read:    true,
	storage: &podrest.LogREST{},
	options: func() runtime.Object { return &api.PodLogOptions{} },
	connect: func(ctx context.Context, name string, o runtime.Object, _ bool, responder registryrest.Responder) (http.Handler, error) {
		options := o.(*api.PodLogOptions)
		split := utilfeature.DefaultFeatureGate.Enabled(features.PodLogsQuerySplitStreams)
		if split && options.Stream == nil {
			stream := api.LogStreamAll
			options.Stream = &stream
		}
		if errs := validation.ValidatePodLogOptions(options, split); len(errs) > 0 {
			return nil, apierrors.NewInvalid(api.Kind("PodLogOptions"), name, errs)
		}
		location, transport, err := pod.LogLocation(ctx, getter{podResource}, kubelets{}, name, options)
		if err != nil || location == nil {
			return nil, err
		}
		if transport == nil {
			return nil, fmt.Errorf("Get %q: %w", location, nobodyAt(location, noKubelet))
		}
		return streamed{&genericrest.LocationStreamer{
			Location: location, Transport: transport, ContentType: "text/plain", Flush: options.Follow,
			ResponseChecker: genericrest.NewGenericHttpResponseChecker(api.Resource("pods/log"), name), RedirectChecker: genericrest.PreventRedirects,
		}, responder}, nil
	},
}

// stream returns a connection to a container through its kubelet. Upstream's storage rejects a user who may not create
// the subresource, and uses the client's protocol for the kubelet.
func stream[O runtime.Object](storage registryrest.Connecter, locate locate[O], options func() O) *connection {
	return &connection{
		storage: storage.(registryrest.Storage),
		options: func() runtime.Object { return options() },
		connect: func(ctx context.Context, name string, o runtime.Object, upgrade bool, responder registryrest.Responder) (http.Handler, error) {
			handler, err := storage.Connect(ctx, name, o, responder)
			if err != nil {
				return nil, err
			}
			location, kubelet, err := locate(ctx, getter{podResource}, kubelets{}, name, o.(O))
			switch {
			case err != nil:
				return nil, err
			case !upgrade:
				return nil, apierrors.NewBadRequest("Upgrade request required")
			case kubelet.Transport == nil:
				return nil, fmt.Errorf("error dialing backend: %w", nobodyAt(location, noKubelet))
			}
			return handler, nil
		},
	}
}

var (
	podProxy = proxy(&podrest.ProxyREST{}, &api.PodProxyOptions{}, func(ctx context.Context, name string) (*url.URL, http.RoundTripper, error) {
		return pod.ResourceLocation(ctx, getter{podResource}, podTransport(ctx), name)
	})
	serviceProxy = proxy(&service.ProxyREST{}, &api.ServiceProxyOptions{}, func(ctx context.Context, name string) (*url.URL, http.RoundTripper, error) {
		c, err := ClusterFrom(ctx)
		if err != nil {
			return nil, nil, err
		}
		services, _, _, err := servicestorage.NewREST(overCluster{}, api.IPv4Protocol, nil, nil, endpointSlices{c}, getter{podResource}, podTransport(ctx))
		if err != nil {
			return nil, nil, err
		}
		return services.ResourceLocation(ctx, name)
	})
	nodeProxy = proxy(&noderest.ProxyREST{}, &api.NodeProxyOptions{}, func(ctx context.Context, id string) (*url.URL, http.RoundTripper, error) {
		scheme, name, port, valid := utilnet.SplitSchemeNamePort(id)
		if valid {
			// Upstream resolves the name by DNS, to keep clients out of the server's own network. Here only the network
			// of the cluster can be reached.
			info, err := kubelets{}.GetConnectionInfo(ctx, types.NodeName(name))
			if err != nil {
				return nil, nil, err
			}
			location := &url.URL{Scheme: info.Scheme, Host: net.JoinHostPort(info.Hostname, info.Port)}
			switch {
			case info.Transport == nil && net.ParseIP(info.Hostname) == nil:
				return &url.URL{Host: location.Host}, nil, nil
			case info.Transport != nil && (port == "" || port == info.Port):
				return location, info.Transport, nil
			case info.Transport != nil:
				ip, err := kubelets{}.internalIP(ctx, name)
				return &url.URL{Scheme: scheme, Host: net.JoinHostPort(ip, port)}, podTransport(ctx), err
			}
		}
		location, _, err := node.ResourceLocation(getter{nodeResource}, kubelets{}, nil, ctx, id)
		return location, nil, err
	})
)

// proxy returns a connection to a pod, a service or a node. options is an empty value of its type.
func proxy(storage registryrest.Connecter, options runtime.Object, locate func(ctx context.Context, name string) (*url.URL, http.RoundTripper, error)) *connection {
	return &connection{
		storage: storage.(registryrest.Storage),
		options: options.DeepCopyObject,
		connect: func(ctx context.Context, name string, o runtime.Object, _ bool, responder registryrest.Responder) (http.Handler, error) {
			location, transport, err := locate(ctx, name)
			if err != nil {
				return nil, err
			}
			if t, ok := transport.(*http.Transport); !ok || t == nil {
				return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: %v", nobodyAt(location, noBackends)))
			}
			location.Path = utilnet.JoinPreservingTrailingSlash(location.Path, proxyPath(o))
			return forwarded{location, transport.(*http.Transport), responder}, nil
		},
	}
}

// proxyPath returns the path in the options of a proxy.
func proxyPath(options runtime.Object) string {
	switch o := options.(type) {
	case *api.PodProxyOptions:
		return o.Path
	case *api.ServiceProxyOptions:
		return o.Path
	case *api.NodeProxyOptions:
		return o.Path
	}
	return ""
}

// nobodyAt returns the error of a real cluster if nothing listens at an address, with a note on what fakecluster lacks.
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

// kubelets returns the addresses of the nodes' kubelets, and transports to those that run.
type kubelets struct{}

// preferredAddresses are the default of kube-apiserver's --kubelet-preferred-address-types.
var preferredAddresses = []corev1.NodeAddressType{
	corev1.NodeHostName, corev1.NodeInternalDNS, corev1.NodeInternalIP, corev1.NodeExternalDNS, corev1.NodeExternalIP,
}

// kubeletPort is the port of a kubelet if the Node has none.
const kubeletPort = 10250

// GetConnectionInfo implements upstream's kubelet.ConnectionInfoGetter.
func (kubelets) GetConnectionInfo(ctx context.Context, name types.NodeName) (*kubelet.ConnectionInfo, error) {
	n, err := nodeOf(ctx, string(name))
	if err != nil {
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
	info := &kubelet.ConnectionInfo{Scheme: "https", Hostname: host, Port: strconv.Itoa(int(port)), NodeFeatures: n.Status.DeclaredFeatures}
	if c, err := ClusterFrom(ctx); err == nil {
		if dial := c.Kubelet(n.Name); dial != nil {
			t := kubeletTransport(dial)
			info.Scheme, info.Transport, info.InsecureSkipTLSVerifyTransport = "http", t, t // the connection stays in the process
		}
	}
	return info, nil
}

// internalIP returns the internal IP of a node.
func (kubelets) internalIP(ctx context.Context, name string) (string, error) {
	n, err := nodeOf(ctx, name)
	if err != nil {
		return "", err
	}
	return nodeutil.GetPreferredNodeAddress(n, []corev1.NodeAddressType{corev1.NodeInternalIP})
}

func nodeOf(ctx context.Context, name string) (*corev1.Node, error) {
	obj, err := getter{nodeResource}.Get(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	n := &corev1.Node{}
	return n, legacyscheme.Scheme.Convert(obj, n, nil)
}

// endpointSlices reads the EndpointSlices of a cluster for upstream's storage of services.
type endpointSlices struct{ cluster Cluster }

// GetEndpointSlices implements upstream's proxy.EndpointSliceGetter.
func (e endpointSlices) GetEndpointSlices(namespace, service string) ([]*discoveryv1.EndpointSlice, error) {
	slices, err := e.cluster.Objects(discoveryapi.Resource("endpointslices"), namespace)
	if err != nil {
		return nil, err
	}
	var found []*discoveryv1.EndpointSlice
	for _, obj := range slices {
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
