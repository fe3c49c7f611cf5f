package builtin

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/endpoint"
	"k8s.io/kubernetes/pkg/registry/core/event"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
)

// The notes in errors about what a connection needs and the cluster lacks.
const (
	noKubelet  = "no kubelet runs, and so no container"
	noBackends = "nothing runs behind pods, services and nodes"
)

var v1 = []string{"v1"}

var core = group{name: "", kinds: []kind{
	{
		kind: "Binding", plural: "bindings", singular: "binding",
		versions: v1, verbs: createVerb, action: binding,
	},
	{
		kind: "ComponentStatus", plural: "componentstatuses", singular: "componentstatus", short: []string{"cs"},
		clusterScoped: true, versions: v1, verbs: []string{"get", "list"}, table: printed{}, computed: componentStatuses,
	},
	{
		kind: "ConfigMap", plural: "configmaps", singular: "configmap", short: []string{"cm"},
		versions: v1, strategy: configmap.Strategy, attributes: configmap.GetAttrs,
	},
	{
		kind: "Endpoints", plural: "endpoints", singular: "endpoints", short: []string{"ep"},
		storedUnder: "services/endpoints",
		versions:    v1, strategy: endpoint.Strategy,
	},
	{
		kind: "Event", plural: "events", singular: "event", short: []string{"ev"},
		uncached: true,
		versions: v1, strategy: event.Strategy, attributes: event.GetAttrs,
	},
	{
		kind: "LimitRange", plural: "limitranges", singular: "limitrange", short: []string{"limits"},
		versions: v1, strategy: limitrange.Strategy, table: plain("", "limitranges"),
	},
	{
		kind: "Namespace", plural: "namespaces", singular: "namespace", short: []string{"ns"},
		answersDeleted: true, clusterScoped: true, ofItself: true, versions: v1, verbs: []string{"create", "delete", "get", "list", "patch", "update", "watch"},
		strategy: namespace.Strategy, attributes: namespace.GetAttrs, content: namespaceContent, deletesReadable: true,
		subresources: map[string]subresource{
			"finalize": {strategy: namespace.FinalizeStrategy, verbs: []string{"update"}},
			"status":   {strategy: namespace.StatusStrategy},
		},
	},
	{
		kind: "Node", plural: "nodes", singular: "node", short: []string{"no"},
		storedUnder:   "minions",
		clusterScoped: true, versions: v1, strategy: node.Strategy, attributes: node.GetAttrs,
		subresources: map[string]subresource{
			"proxy":  {kind: corev1.SchemeGroupVersion.WithKind("NodeProxyOptions"), verbs: proxyVerbs, connection: nodeProxy},
			"status": {strategy: node.StatusStrategy},
		},
	},
	{
		kind: "PersistentVolume", plural: "persistentvolumes", singular: "persistentvolume", short: []string{"pv"},
		answersDeleted: true, clusterScoped: true, versions: v1, strategy: persistentvolume.Strategy, attributes: persistentvolume.GetAttrs,
		subresources: status(persistentvolume.StatusStrategy),
	},
	{
		kind: "PersistentVolumeClaim", plural: "persistentvolumeclaims", singular: "persistentvolumeclaim", short: []string{"pvc"},
		answersDeleted: true, versions: v1, strategy: persistentvolumeclaim.Strategy, attributes: persistentvolumeclaim.GetAttrs,
		subresources: status(persistentvolumeclaim.StatusStrategy),
	},
	{
		kind: "Pod", plural: "pods", singular: "pod", short: []string{"po"}, categories: []string{"all"},
		answersDeleted: true, versions: v1, strategy: podStrategy{pod.Strategy, pod.Strategy, pod.Strategy, pod.Strategy}, attributes: pod.GetAttrs, plainFields: []string{"spec.nodeName", "status.phase"},
		subresources: map[string]subresource{
			"attach":              {kind: corev1.SchemeGroupVersion.WithKind("PodAttachOptions"), verbs: connectVerbs, connection: podAttach},
			"binding":             {kind: corev1.SchemeGroupVersion.WithKind("Binding"), verbs: createVerb, action: binding},
			"ephemeralcontainers": {strategy: podSubresourceStrategy{pod.EphemeralContainersStrategy, pod.EphemeralContainersStrategy, nil}, noTable: true, resetsNone: true},
			"eviction":            {kind: policyv1.SchemeGroupVersion.WithKind("Eviction"), verbs: createVerb, action: eviction},
			"exec":                {kind: corev1.SchemeGroupVersion.WithKind("PodExecOptions"), verbs: connectVerbs, connection: podExec},
			"log":                 {verbs: []string{"get"}, connection: podLog},
			"portforward":         {kind: corev1.SchemeGroupVersion.WithKind("PodPortForwardOptions"), verbs: connectVerbs, connection: podPortForward},
			"proxy":               {kind: corev1.SchemeGroupVersion.WithKind("PodProxyOptions"), verbs: proxyVerbs, connection: podProxy},
			"resize":              {strategy: podSubresourceStrategy{pod.ResizeStrategy, pod.ResizeStrategy, nil}, noTable: true, resetsNone: true},
			"status":              {strategy: podSubresourceStrategy{pod.StatusStrategy, pod.StatusStrategy, pod.StatusStrategy}},
		},
	},
	{
		kind: "PodTemplate", plural: "podtemplates", singular: "podtemplate",
		answersDeleted: true, versions: v1, strategy: podtemplate.Strategy,
	},
	{
		kind: "ReplicationController", plural: "replicationcontrollers", singular: "replicationcontroller", short: []string{"rc"},
		storedUnder: "controllers",
		categories:  []string{"all"}, versions: v1, strategy: replicationcontroller.Strategy, attributes: replicationcontroller.GetAttrs,
		subresources: map[string]subresource{
			"scale":  {kind: scaleKind, scale: &scaledReplicationController},
			"status": {strategy: replicationcontroller.StatusStrategy},
		},
	},
	{
		kind: "ResourceQuota", plural: "resourcequotas", singular: "resourcequota", short: []string{"quota"},
		answersDeleted: true, versions: v1, strategy: resourcequota.Strategy, subresources: status(resourcequota.StatusStrategy),
	},
	{
		kind: "Secret", plural: "secrets", singular: "secret",
		versions: v1, strategy: secret.Strategy, attributes: secret.GetAttrs,
	},
	{
		kind: "Service", plural: "services", singular: "service", short: []string{"svc"}, categories: []string{"all"},
		storedUnder:    "services/specs",
		answersDeleted: true, versions: v1, strategy: service.Strategy, attributes: service.GetAttrs, claims: serviceClaims,
		subresources: map[string]subresource{
			"proxy":  {kind: corev1.SchemeGroupVersion.WithKind("ServiceProxyOptions"), verbs: proxyVerbs, connection: serviceProxy},
			"status": {strategy: service.StatusStrategy},
		},
	},
	{
		kind: "ServiceAccount", plural: "serviceaccounts", singular: "serviceaccount", short: []string{"sa"},
		answersDeleted: true, versions: v1, strategy: serviceaccount.Strategy,
		subresources: map[string]subresource{
			"token": {kind: authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"), verbs: createVerb, action: tokenRequest},
		},
	},
}}

// events has the Events of the core group, served in the group events.k8s.io.
var events = group{name: "events.k8s.io", kinds: []kind{{
	kind: "Event", plural: "events", singular: "event", short: []string{"ev"},
	uncached: true,
	versions: v1, storedIn: &core.name, strategy: event.Strategy, attributes: event.GetAttrs,
}}}

var scaledReplicationController = scaled{
	read: func(obj runtime.Object) (int32, int32, labels.Selector, error) {
		rc := obj.(*api.ReplicationController)
		var wanted int32
		if rc.Spec.Replicas != nil {
			wanted = *rc.Spec.Replicas
		}
		return wanted, rc.Status.Replicas, labels.SelectorFromSet(rc.Spec.Selector), nil
	},
	write: func(obj runtime.Object, wanted int32) { obj.(*api.ReplicationController).Spec.Replicas = &wanted },
}
