package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/authentication/authenticator"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// forKinds implements builtin.Cluster for requests of clients.
type forKinds struct {
	*loopback
	users *authentication.Authenticator
}

var _, _ builtin.Cluster = forKinds{}, &loopback{}

// AuthenticateRequest implements builtin.Cluster.
func (k forKinds) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	return k.users.AuthenticateRequest(req)
}

// AuthenticateRequest implements builtin.Cluster. The server itself authenticates nobody.
func (*loopback) AuthenticateRequest(*http.Request) (*authenticator.Response, bool, error) {
	return nil, false, nil
}

// resource returns a built-in resource.
func (l *loopback) resource(gr schema.GroupResource) (*resource.Resource, error) {
	res := l.registry.Load().Resource(gr.Group, gr.Resource)
	if res == nil {
		return nil, fmt.Errorf("there is no resource %s", gr)
	}
	return res, nil
}

// Object implements builtin.Cluster.
func (l *loopback) Object(gr schema.GroupResource, namespace, name string) (runtime.Object, error) {
	res, err := l.resource(gr)
	if err != nil {
		return nil, err
	}
	v := written(res)
	obj, _, err := l.read(v, namespace, name)
	if err != nil {
		return nil, err
	}
	return v.Codec.Copy(obj), nil
}

// Objects implements builtin.Cluster.
func (l *loopback) Objects(gr schema.GroupResource, namespace string) ([]runtime.Object, error) {
	res, err := l.resource(gr)
	if err != nil {
		return nil, err
	}
	list, err := l.store.List(res.PrefixOf(namespace), store.ListOptions{})
	if err != nil {
		return nil, err
	}
	return written(res).Codec.DecodeAllStored(list.Records)
}

// Create implements builtin.Cluster.
func (l *loopback) Create(gr schema.GroupResource, namespace string, obj runtime.Object) error {
	res, err := l.resource(gr)
	if err != nil {
		return err
	}
	return l.create(context.Background(), res, namespace, obj)
}

// Delete implements builtin.Cluster.
func (l *loopback) Delete(gr schema.GroupResource, namespace, name string) error {
	res, err := l.resource(gr)
	if err != nil {
		return err
	}
	w := request(res, namespace, name)
	w.Change = write.Delete{Options: &metav1.DeleteOptions{}}
	return l.run(context.Background(), "delete", w)
}

// UpdateStatus implements builtin.Cluster.
func (l *loopback) UpdateStatus(gr schema.GroupResource, obj metav1.Object) error {
	res, err := l.resource(gr)
	if err != nil {
		return err
	}
	w := request(res, obj.GetNamespace(), obj.GetName())
	w.Subresource = "status"
	w.Change = write.Replace{Object: made(obj.(runtime.Object).DeepCopyObject)}
	return l.run(context.Background(), "update", w)
}

// Put implements builtin.Cluster.
func (l *loopback) Put(ctx context.Context, resource schema.GroupResource, namespace, name string,
	change func(runtime.Object) (runtime.Object, error)) (runtime.Object, error) {
	return l.direct(ctx, resource, namespace, name, write.Put{Make: change})
}

// Drop implements builtin.Cluster.
func (l *loopback) Drop(ctx context.Context, resource schema.GroupResource, namespace, name string, check func(runtime.Object) error) (runtime.Object, error) {
	return l.direct(ctx, resource, namespace, name, write.Drop{Check: check})
}

// direct carries out a write that is part of a client's request, and returns a copy of the object. The write is not part
// of the explanation of the request.
func (l *loopback) direct(ctx context.Context, resource schema.GroupResource, namespace, name string, change write.Change) (runtime.Object, error) {
	res, err := l.resource(resource)
	if err != nil {
		return nil, err
	}
	v := written(res)
	result, err := l.pipeline.Run(observe.Unexplained(ctx), l, &write.Request{Version: v, Namespace: namespace, Name: name, Change: change})
	if err != nil {
		return nil, err
	}
	return v.Codec.Copy(result.Object), nil
}

// ServiceRanges implements builtin.Cluster.
func (l *loopback) ServiceRanges() []netip.Prefix { return l.network.ServiceRanges() }

// NodePortRange implements builtin.Cluster.
func (l *loopback) NodePortRange() utilnet.PortRange { return l.network.NodePortRange() }

// NodePorts implements builtin.Cluster.
func (l *loopback) NodePorts() *builtin.NodePorts { return l.nodePorts }

// Tokens implements builtin.Cluster.
func (l *loopback) Tokens() *authentication.Issuer { return l.tokens }

// Decider implements builtin.Cluster.
func (l *loopback) Decider() authorization.Authorizer { return l.authorizer }

// Rules implements builtin.Cluster.
func (l *loopback) Rules() *authorization.Rules { return l.rules }

// ResourceOf implements builtin.Cluster.
func (l *loopback) ResourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	res := l.registry.Load().Kind(kind)
	if res == nil {
		return schema.GroupVersionResource{}, fmt.Errorf("there is no resource of the kind %s", kind)
	}
	return kind.GroupVersion().WithResource(res.Names.Plural), nil
}

// Random implements builtin.Cluster.
func (l *loopback) Random(bound int) int { return l.pipeline.Random.Below(bound) }

// Now implements builtin.Cluster.
func (l *loopback) Now() time.Time { return l.now().Time }

// Kubelet implements builtin.Cluster.
func (l *loopback) Kubelet(node string) func(context.Context) (net.Conn, error) {
	if l.services == nil {
		return nil
	}
	return l.services.Kubelet(node)
}

// DialPods implements builtin.Cluster.
func (l *loopback) DialPods() func(ctx context.Context, network, address string) (net.Conn, error) {
	if l.services == nil || !l.services.Connected() {
		return nil
	}
	return l.services.DialContext
}
