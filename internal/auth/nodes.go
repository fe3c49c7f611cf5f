package auth

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

// nodeAuthorizer is the authorizer of the mode Node: kubelets may do to objects what the Pods on
// their nodes need. Upstream's graph knows which objects these are. When a kubelet makes a request,
// the graph is brought up to date with the changes in the store.
type nodeAuthorizer struct {
	store *store.Store
	is    nodeidentifier.NodeIdentifier

	mu    sync.Mutex
	graph *node.Graph
	by    *node.NodeAuthorizer
	seen  int64 // the revision up to which the graph knows the store
}

func newNodeAuthorizer(s *store.Store) *nodeAuthorizer {
	n := &nodeAuthorizer{store: s, is: nodeidentifier.NewDefaultNodeIdentifier()}
	n.begin()
	return n
}

// begin makes an empty graph.
func (n *nodeAuthorizer) begin() {
	n.graph = node.NewGraph()
	n.by = node.NewAuthorizer(n.graph, n.is, bootstrappolicy.NodeRules())
	n.seen = 0
}

// leading has the kinds that lead from a node to other objects, by their store keys, with the
// function that adds an object to the graph.
var leading = map[string]struct {
	add    func(*node.Graph, string) error
	remove func(g *node.Graph, namespace, name string)
}{
	"/registry/pods/": {
		of(func(g *node.Graph, pod *corev1.Pod) {
			if pod.Spec.NodeName != "" {
				g.AddPod(pod)
			}
		}),
		func(g *node.Graph, namespace, name string) { g.DeletePod(name, namespace) },
	},
	"/registry/persistentvolumes/": {
		of(func(g *node.Graph, volume *corev1.PersistentVolume) { g.AddPV(volume) }),
		func(g *node.Graph, _, name string) { g.DeletePV(name) },
	},
	"/registry/volumeattachments/": {
		of(func(g *node.Graph, a *storagev1.VolumeAttachment) { g.AddVolumeAttachment(a.Name, a.Spec.NodeName) }),
		func(g *node.Graph, _, name string) { g.DeleteVolumeAttachment(name) },
	},
	"/registry/resourceslices/": {
		of(func(g *node.Graph, slice *resourcev1.ResourceSlice) {
			if slice.Spec.NodeName != nil {
				g.AddResourceSlice(slice.Name, *slice.Spec.NodeName)
			}
		}),
		func(g *node.Graph, _, name string) { g.DeleteResourceSlice(name) },
	},
	"/registry/podcertificaterequests/": {
		of(func(g *node.Graph, request *certificatesv1.PodCertificateRequest) {
			g.AddPodCertificateRequest(request)
		}),
		func(g *node.Graph, namespace, name string) {
			g.DeletePodCertificateRequest(&certificatesv1.PodCertificateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		},
	},
}

// of adds a stored object to the graph.
func of[T any](add func(*node.Graph, *T)) func(*node.Graph, string) error {
	return func(g *node.Graph, stored string) error {
		obj := new(T)
		if err := json.Unmarshal([]byte(stored), obj); err != nil {
			return err
		}
		add(g, obj)
		return nil
	}
}

// now returns upstream's authorizer for the present state of the store.
func (n *nodeAuthorizer) now() (*node.NodeAuthorizer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		err := n.follow()
		var compacted *store.CompactedError
		if !errors.As(err, &compacted) {
			return n.by, err
		}
		n.begin() // others write faster than the history is long
	}
}

// follow adds to the graph what has changed in the store since.
func (n *nodeAuthorizer) follow() error {
	if n.seen == 0 {
		return n.read()
	}
	if n.store.Revision() == n.seen {
		return nil
	}
	cursor, err := n.store.Watch("/registry/", n.seen)
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
			if err := n.learn(e); err != nil {
				return err
			}
		}
		n.seen = cursor.Revision()
	}
}

// read adds everything in the store to an empty graph.
func (n *nodeAuthorizer) read() error {
	revision := n.store.Revision()
	for prefix, kind := range leading {
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

// learn adds a change to the graph.
func (n *nodeAuthorizer) learn(e *store.Event) error {
	end := strings.IndexByte(e.Record.Key[len("/registry/"):], '/')
	if end < 0 {
		return nil
	}
	prefix, rest := e.Record.Key[:len("/registry/")+end+1], e.Record.Key[len("/registry/")+end+1:]
	kind, ok := leading[prefix]
	if !ok {
		return nil
	}
	if e.Type == store.Deleted {
		namespace, name, namespaced := strings.Cut(rest, "/")
		if !namespaced {
			namespace, name = "", rest
		}
		kind.remove(n.graph, namespace, name)
		return nil
	}
	if err := kind.add(n.graph, e.Record.Value); err != nil {
		return fmt.Errorf("reading %s: %w", e.Record.Key, err)
	}
	return nil
}

// Authorize implements authorizer.Authorizer.
func (n *nodeAuthorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if _, is := n.is.NodeIdentity(a.GetUser()); !is {
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
