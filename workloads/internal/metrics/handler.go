package metrics

import (
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/metrics/pkg/apis/metrics"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/clientset/versioned/scheme"
)

// window is the interval of a metric, which is also the interval at which metrics-server scrapes nodes.
const window = 15 * time.Second

// root is the path of the version. Below it are nodes and pods.
const root = "/apis/metrics.k8s.io/v1beta1"

// Handler serves metrics.k8s.io/v1beta1.
type Handler struct {
	Pods  corelisters.PodLister
	Nodes corelisters.NodeLister
	// Usage returns the use of resources by the running containers of a Pod, by their names, and false if its Node does
	// not report.
	Usage func(*corev1.Pod) (map[string]corev1.ResourceList, bool)
	// Reports reports whether a Node reports its use of resources.
	Reports func(node string) bool
}

// discovery is the document of the version.
var discovery = &metav1.APIResourceList{
	TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
	GroupVersion: v1beta1.SchemeGroupVersion.String(),
	APIResources: []metav1.APIResource{
		{Name: "nodes", Kind: "NodeMetrics", Verbs: metav1.Verbs{"get", "list"}},
		{Name: "pods", Kind: "PodMetrics", Verbs: metav1.Verbs{"get", "list"}, Namespaced: true},
	},
}

// request is a parsed path below root.
type request struct {
	resource, namespace, name string
}

// parse reads a path: nodes, nodes/NAME, pods, namespaces/NAMESPACE/pods or namespaces/NAMESPACE/pods/NAME.
func parse(path string) (r request, ok bool) {
	parts := strings.Split(path, "/")
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] == "pods" {
		r.namespace, parts = parts[1], parts[2:]
	}
	if r.resource = parts[0]; len(parts) == 2 {
		r.name = parts[1]
	}
	switch {
	case len(parts) > 2, r.resource != "nodes" && r.resource != "pods", r.resource == "pods" && r.name != "" && r.namespace == "":
		return r, false
	}
	return r, true
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if strings.TrimSuffix(req.URL.Path, "/") == root {
		responsewriters.WriteRawJSON(http.StatusOK, discovery, w)
		return
	}
	if strings.HasPrefix(req.URL.Path, "/openapi/") {
		documents().ServeHTTP(w, req)
		return
	}
	below, _ := strings.CutPrefix(req.URL.Path, root+"/")
	r, ok := parse(below) // without a match, below is empty
	if !ok {
		http.NotFound(w, req)
		return
	}
	obj, err := h.answer(r, req)
	if err == nil {
		err = write(w, req, obj)
	}
	if err != nil {
		responsewriters.ErrorNegotiated(err, scheme.Codecs, v1beta1.SchemeGroupVersion, w, req)
	}
}

// answer returns the object for a request.
func (h *Handler) answer(r request, req *http.Request) (runtime.Object, error) {
	query := req.URL.Query()
	watches := query.Get("watch")
	if req.Method != http.MethodGet || watches == "true" || watches == "1" {
		return nil, apierrors.NewMethodNotSupported(metrics.Resource(r.resource), strings.ToLower(req.Method))
	}
	if r.name != "" && r.resource == "nodes" {
		return h.node(r.name)
	}
	if r.name != "" {
		return h.pod(r.namespace, r.name)
	}
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	field, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if r.resource == "nodes" {
		return h.nodes(selector, field)
	}
	return h.pods(r.namespace, selector, field)
}

func (h *Handler) node(name string) (runtime.Object, error) {
	node, err := h.Nodes.Get(name)
	if err != nil {
		return nil, err
	}
	if !h.Reports(name) {
		return nil, apierrors.NewNotFound(metrics.Resource("nodemetrics"), name)
	}
	return h.nodeMetrics(node), nil
}

func (h *Handler) pod(namespace, name string) (runtime.Object, error) {
	pod, err := h.Pods.Pods(namespace).Get(name)
	if err != nil { // metrics-server's error has the resource, client-go's the kind
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	m, ok := h.podMetrics(pod)
	if !ok {
		return nil, apierrors.NewNotFound(metrics.Resource("podmetrics"), namespace+"/"+name)
	}
	return m, nil
}

func (h *Handler) nodes(selector labels.Selector, field fields.Selector) (runtime.Object, error) {
	nodes, err := h.Nodes.List(selector)
	if err != nil {
		return nil, err
	}
	list := &v1beta1.NodeMetricsList{Items: []v1beta1.NodeMetrics{}}
	for _, n := range nodes {
		if h.Reports(n.Name) && field.Matches(nameOf(n)) {
			list.Items = append(list.Items, *h.nodeMetrics(n))
		}
	}
	slices.SortFunc(list.Items, func(a, b v1beta1.NodeMetrics) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (h *Handler) pods(namespace string, selector labels.Selector, field fields.Selector) (runtime.Object, error) {
	pods, err := h.Pods.Pods(namespace).List(selector)
	if err != nil {
		return nil, err
	}
	list := &v1beta1.PodMetricsList{Items: []v1beta1.PodMetrics{}}
	for _, p := range pods {
		if m, ok := h.podMetrics(p); ok && field.Matches(nameOf(p)) {
			list.Items = append(list.Items, *m)
		}
	}
	slices.SortFunc(list.Items, func(a, b v1beta1.PodMetrics) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return list, nil
}

// nameOf returns the fields of an object for field selectors.
func nameOf(obj metav1.Object) fields.Set {
	return fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()}
}

// podMetrics returns the metrics of a Pod. It returns false if the Pod does not run or its Node does not report.
func (h *Handler) podMetrics(pod *corev1.Pod) (*v1beta1.PodMetrics, bool) {
	if pod.Status.Phase != corev1.PodRunning {
		return nil, false
	}
	usage, ok := h.Usage(pod)
	if !ok || len(usage) == 0 {
		return nil, false
	}
	now := metav1.NewTime(time.Now())
	m := &v1beta1.PodMetrics{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, Labels: pod.Labels, CreationTimestamp: now},
		Timestamp:  now, Window: metav1.Duration{Duration: window},
	}
	for _, specs := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range specs {
			if used, running := usage[specs[i].Name]; running {
				m.Containers = append(m.Containers, v1beta1.ContainerMetrics{Name: specs[i].Name, Usage: sum(used)})
			}
		}
	}
	return m, true
}

// nodeMetrics returns the metrics of a Node: the sum of its Pods.
func (h *Handler) nodeMetrics(node *corev1.Node) *v1beta1.NodeMetrics {
	var used []corev1.ResourceList
	pods, _ := h.Pods.List(labels.Everything()) // a lister returns no error
	for _, p := range pods {
		if p.Spec.NodeName != node.Name {
			continue
		}
		if m, ok := h.podMetrics(p); ok {
			for _, c := range m.Containers {
				used = append(used, c.Usage)
			}
		}
	}
	now := metav1.NewTime(time.Now())
	return &v1beta1.NodeMetrics{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, CreationTimestamp: now},
		Timestamp:  now, Window: metav1.Duration{Duration: window}, Usage: sum(used...),
	}
}

// sum returns the sums of CPU and memory. A missing value counts as 0.
func sum(lists ...corev1.ResourceList) corev1.ResourceList {
	total := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		quantity := total[name]
		for _, one := range lists {
			quantity.Add(one[name])
		}
		total[name] = quantity
	}
	return total
}

// write writes an object in the media type of the request, or as a Table.
func write(w http.ResponseWriter, req *http.Request, obj runtime.Object) error {
	media, _, err := negotiation.NegotiateOutputMediaType(req, scheme.Codecs, tables{})
	if err != nil {
		return err
	}
	if media.Convert == nil {
		responsewriters.WriteObjectNegotiated(scheme.Codecs, negotiation.DefaultEndpointRestrictions, v1beta1.SchemeGroupVersion, w, req, http.StatusOK, obj, false)
		return nil
	}
	table, err := tableOf(obj, req.URL.Query().Get("includeObject"))
	if err != nil {
		return err
	}
	table.SetGroupVersionKind(*media.Convert)
	responsewriters.WriteRawJSON(http.StatusOK, table, w)
	return nil
}
