package server

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// forKinds implements builtin.Cluster, which the code of built-in kinds works on.
type forKinds struct {
	state
	own       *ownWrites
	nodePorts *builtin.NodePorts
	tokens    *authentication.Issuer
	rules     *authorization.Rules
	random    *write.Random
	network   builtin.Network
	services  Services // nil: there are none
}

var _ builtin.Cluster = forKinds{}

// resource returns a built-in resource.
func (k forKinds) resource(gr schema.GroupResource) (*resource.Resource, error) {
	res := k.registry.Load().Resource(gr.Group, gr.Resource)
	if res == nil {
		return nil, fmt.Errorf("there is no resource %s", gr)
	}
	return res, nil
}

// Object implements builtin.Cluster.
func (k forKinds) Object(gr schema.GroupResource, namespace, name string) (runtime.Object, error) {
	res, err := k.resource(gr)
	if err != nil {
		return nil, err
	}
	v := written(res)
	obj, _, err := k.read(v, namespace, name)
	if err != nil {
		return nil, err
	}
	return v.Codec.Copy(obj), nil
}

// Objects implements builtin.Cluster.
func (k forKinds) Objects(gr schema.GroupResource, namespace string) ([]runtime.Object, error) {
	res, err := k.resource(gr)
	if err != nil {
		return nil, err
	}
	list, err := k.store.List(res.PrefixOf(namespace), store.ListOptions{})
	if err != nil {
		return nil, err
	}
	return written(res).Codec.DecodeAllStored(list.Records)
}

// Create implements builtin.Cluster.
func (k forKinds) Create(gr schema.GroupResource, namespace string, obj runtime.Object) error {
	res, err := k.resource(gr)
	if err != nil {
		return err
	}
	return k.own.create(context.Background(), res, namespace, obj)
}

// Delete implements builtin.Cluster.
func (k forKinds) Delete(gr schema.GroupResource, namespace, name string) error {
	res, err := k.resource(gr)
	if err != nil {
		return err
	}
	w := request(res, namespace, name)
	w.Change = write.Delete{Options: &metav1.DeleteOptions{}}
	return k.own.run(context.Background(), "delete", w)
}

// UpdateStatus implements builtin.Cluster.
func (k forKinds) UpdateStatus(gr schema.GroupResource, obj metav1.Object) error {
	res, err := k.resource(gr)
	if err != nil {
		return err
	}
	w := request(res, obj.GetNamespace(), obj.GetName())
	w.Subresource = "status"
	w.Change = write.Replace{Object: source(obj.(runtime.Object).DeepCopyObject)}
	return k.own.run(context.Background(), "update", w)
}

// Put implements builtin.Cluster.
func (k forKinds) Put(ctx context.Context, resource schema.GroupResource, namespace, name string,
	change func(runtime.Object) (runtime.Object, error)) (runtime.Object, error) {
	return k.direct(ctx, resource, namespace, name, write.Put{Make: change})
}

// Drop implements builtin.Cluster.
func (k forKinds) Drop(ctx context.Context, resource schema.GroupResource, namespace, name string, check func(runtime.Object) error) (runtime.Object, error) {
	return k.direct(ctx, resource, namespace, name, write.Drop{Check: check})
}

// direct carries out a write that is a part of a client's request, and returns a copy of the
// object. The explanation of the request is about the request itself only.
func (k forKinds) direct(ctx context.Context, resource schema.GroupResource, namespace, name string, change write.Change) (runtime.Object, error) {
	res, err := k.resource(resource)
	if err != nil {
		return nil, err
	}
	v := written(res)
	result, err := k.own.pipeline.Run(observe.Unexplained(ctx), write.Request{Version: v, Namespace: namespace, Name: name, Change: change})
	if err != nil {
		return nil, err
	}
	return v.Codec.Copy(result.Object), nil
}

// ServiceRanges implements builtin.Cluster.
func (k forKinds) ServiceRanges() []netip.Prefix { return k.network.ServiceRanges() }

// NodePortRange implements builtin.Cluster.
func (k forKinds) NodePortRange() utilnet.PortRange { return k.network.NodePortRange() }

// NodePorts implements builtin.Cluster.
func (k forKinds) NodePorts() *builtin.NodePorts { return k.nodePorts }

// Tokens implements builtin.Cluster.
func (k forKinds) Tokens() *authentication.Issuer { return k.tokens }

// Decider implements builtin.Cluster.
func (k forKinds) Decider() authorization.Authorizer { return k.authorizer }

// Rules implements builtin.Cluster.
func (k forKinds) Rules() *authorization.Rules { return k.rules }

// ResourceOf implements builtin.Cluster.
func (k forKinds) ResourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	res := k.registry.Load().Kind(kind)
	if res == nil {
		return schema.GroupVersionResource{}, fmt.Errorf("there is no resource of the kind %s", kind)
	}
	return kind.GroupVersion().WithResource(res.Names.Plural), nil
}

// Random implements builtin.Cluster.
func (k forKinds) Random(bound int) int { return k.random.Below(bound) }

// Now implements builtin.Cluster.
func (k forKinds) Now() time.Time { return k.now().Time }

// Kubelet implements builtin.Cluster.
func (k forKinds) Kubelet(node string) func(context.Context) (net.Conn, error) {
	if k.services == nil {
		return nil
	}
	return k.services.Kubelet(node)
}

// DialPods implements builtin.Cluster.
func (k forKinds) DialPods() func(ctx context.Context, network, address string) (net.Conn, error) {
	if k.services == nil || !k.services.Connected() {
		return nil
	}
	return k.services.DialContext
}
