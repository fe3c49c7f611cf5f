package authorization

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/node"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/fakecluster/fakecluster/store"
)

// nodeAuthorizer is the authorizer of the mode Node: kubelets may access the objects that the Pods on their nodes need.
// Upstream's graph has these objects. It is updated from the store when a kubelet sends a request.
type nodeAuthorizer struct {
	store      *store.Store
	kinds      map[string]graphKind // by the prefixes of their store keys
	identifier nodeidentifier.NodeIdentifier

	mu    sync.Mutex
	graph *node.Graph
	by    *node.NodeAuthorizer
	seen  int64 // the revision of the store up to which the graph is complete
}

func newNodeAuthorizer(s *store.Store, prefixes Prefixes) *nodeAuthorizer {
	n := &nodeAuthorizer{store: s, kinds: map[string]graphKind{}, identifier: nodeidentifier.NewDefaultNodeIdentifier()}
	for plural, kind := range graphKinds {
		n.kinds[prefixes(plural)] = kind
	}
	n.begin()
	return n
}

// begin starts with an empty graph.
func (n *nodeAuthorizer) begin() {
	n.graph = node.NewGraph()
	n.by = node.NewAuthorizer(n.graph, n.identifier, bootstrappolicy.NodeRules())
	n.seen = 0
}

// graphKind is a kind in the graph.
type graphKind struct {
	add    func(*node.Graph, string) error
	remove func(g *node.Graph, namespace, name string)
}

// graphKinds has the kinds in the graph by their plurals.
var graphKinds = map[string]graphKind{
	"pods": {
		added(func(g *node.Graph, pod *corev1.Pod) {
			if pod.Spec.NodeName != "" {
				g.AddPod(pod)
			}
		}),
		func(g *node.Graph, namespace, name string) { g.DeletePod(name, namespace) },
	},
	"persistentvolumes": {
		added(func(g *node.Graph, volume *corev1.PersistentVolume) { g.AddPV(volume) }),
		func(g *node.Graph, _, name string) { g.DeletePV(name) },
	},
	"volumeattachments": {
		added(func(g *node.Graph, a *storagev1.VolumeAttachment) { g.AddVolumeAttachment(a.Name, a.Spec.NodeName) }),
		func(g *node.Graph, _, name string) { g.DeleteVolumeAttachment(name) },
	},
	"resourceslices": {
		added(func(g *node.Graph, slice *resourcev1.ResourceSlice) {
			if slice.Spec.NodeName != nil {
				g.AddResourceSlice(slice.Name, *slice.Spec.NodeName)
			}
		}),
		func(g *node.Graph, _, name string) { g.DeleteResourceSlice(name) },
	},
	"podcertificaterequests": {
		added(func(g *node.Graph, request *certificatesv1.PodCertificateRequest) {
			g.AddPodCertificateRequest(request)
		}),
		func(g *node.Graph, namespace, name string) {
			g.DeletePodCertificateRequest(&certificatesv1.PodCertificateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		},
	},
}

// added returns a function that adds a stored object to the graph.
func added[T any](add func(*node.Graph, *T)) func(*node.Graph, string) error {
	return func(g *node.Graph, stored string) error {
		obj := new(T)
		if err := json.Unmarshal([]byte(stored), obj); err != nil {
			return err
		}
		add(g, obj)
		return nil
	}
}

// now returns upstream's authorizer for the current state of the store.
func (n *nodeAuthorizer) now() (*node.NodeAuthorizer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		err := n.follow()
		var compacted *store.CompactedError
		if !errors.As(err, &compacted) {
			return n.by, err
		}
		n.begin() // the revision was compacted meanwhile
	}
}

// follow applies the changes in the store since seen to the graph.
func (n *nodeAuthorizer) follow() error {
	if n.seen == 0 {
		return n.read()
	}
	if n.store.Revision() == n.seen {
		return nil
	}
	cursor, err := n.store.Watch("", n.seen)
	if err != nil {
		return err
	}
	for {
		events, err := cursor.Poll()
		if err != nil {
			return err
		}
		if len(events) == 0 {
			n.seen = cursor.Revision()
			return nil
		}
		for _, e := range events {
			if err := n.change(e); err != nil {
				return err
			}
		}
		n.seen = cursor.Revision()
	}
}

// read adds everything in the store to an empty graph.
func (n *nodeAuthorizer) read() error {
	revision := n.store.Revision()
	for prefix, kind := range n.kinds {
		list, err := n.store.List(prefix, store.ListOptions{Revision: revision})
		if err != nil {
			return err
		}
		for _, record := range list.Records {
			if err := kind.add(n.graph, record.Value); err != nil {
				return fmt.Errorf("reading %s: %w", record.Key, err)
			}
		}
	}
	n.seen = revision
	return nil
}

// change applies a change to the graph.
func (n *nodeAuthorizer) change(e *store.Event) error {
	for prefix, kind := range n.kinds {
		if rest, ok := strings.CutPrefix(e.Record.Key, prefix); ok {
			return kind.change(n.graph, e, rest)
		}
	}
	return nil
}

// change applies a change of an object of the kind to the graph. key is the store key without the prefix of the kind.
func (kind graphKind) change(g *node.Graph, e *store.Event, key string) error {
	if e.Type == store.Deleted {
		namespace, name, namespaced := strings.Cut(key, "/")
		if !namespaced {
			namespace, name = "", key
		}
		kind.remove(g, namespace, name)
		return nil
	}
	if err := kind.add(g, e.Record.Value); err != nil {
		return fmt.Errorf("reading %s: %w", e.Record.Key, err)
	}
	return nil
}

// Authorize implements authorizer.Authorizer.
func (n *nodeAuthorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if _, isNode := n.identifier.NodeIdentity(a.GetUser()); !isNode {
		return authorizer.DecisionNoOpinion, "", nil
	}
	by, err := n.now()
	if err != nil {
		return authorizer.DecisionNoOpinion, "", err
	}
	return by.Authorize(ctx, a)
}

// ConditionsAwareAuthorize implements authorizer.Authorizer: there are no conditions.
func (n *nodeAuthorizer) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(n.Authorize(ctx, a))
}

// EvaluateConditions implements authorizer.Authorizer.
func (*nodeAuthorizer) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

// RulesFor implements authorizer.RuleResolver.
func (n *nodeAuthorizer) RulesFor(ctx context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	n.mu.Lock()
	by := n.by
	n.mu.Unlock()
	return by.RulesFor(ctx, u, namespace)
}
