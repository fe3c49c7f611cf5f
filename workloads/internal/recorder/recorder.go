package recorder

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/record/util"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // the reference to a container is made by its scheme
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/utils/clock"
)

// Recorder records the Events of a node synchronously, without the goroutines of a broadcaster. As in a kubelet,
// upstream's correlator counts repeated Events, aggregates similar ones and drops floods. Its methods are safe for
// concurrent use.
type Recorder struct {
	component  string
	node       string // empty: the component is not on a node
	client     kubernetes.Interface
	correlator *record.EventCorrelator
}

// New returns a recorder of a component, such as the kubelet of a node.
func New(component, node string, client kubernetes.Interface) *Recorder {
	return &Recorder{component: component, node: node, client: client, correlator: record.NewEventCorrelator(clock.RealClock{})}
}

// Pod records an event about a pod.
func (r *Recorder) Pod(ctx context.Context, Pod *corev1.Pod, eventType, reason, format string, args ...any) {
	r.event(ctx, podReference(Pod, ""), eventType, reason, fmt.Sprintf(format, args...))
}

// Container records an event about a container of a pod.
func (r *Recorder) Container(ctx context.Context, pod *corev1.Pod, Container *corev1.Container, eventType, reason, format string, args ...any) {
	ref, err := kubecontainer.GenerateContainerRef(pod, Container)
	if err != nil {
		ref = podReference(pod, "")
	}
	r.event(ctx, ref, eventType, reason, fmt.Sprintf(format, args...))
}

// Node records an event about the node. A kubelet refers to its node by name in place of the uid.
func (r *Recorder) Node(ctx context.Context, eventType, reason, format string, args ...any) {
	ref := &corev1.ObjectReference{Kind: "Node", Name: r.node, UID: types.UID(r.node)}
	r.event(ctx, ref, eventType, reason, fmt.Sprintf(format, args...))
}

func podReference(pod *corev1.Pod, fieldPath string) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		ResourceVersion: pod.ResourceVersion, FieldPath: fieldPath,
	}
}

func (r *Recorder) event(ctx context.Context, ref *corev1.ObjectReference, eventType, reason, message string) {
	now := time.Now()
	namespace := ref.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	event := &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: util.GenerateEventName(ref.Name, now.UnixNano()), Namespace: namespace},
		InvolvedObject:      *ref,
		Reason:              reason,
		Message:             message,
		FirstTimestamp:      metav1.NewTime(now),
		LastTimestamp:       metav1.NewTime(now),
		Count:               1,
		Type:                eventType,
		Source:              corev1.EventSource{Component: r.component, Host: r.node},
		ReportingController: r.component,
		ReportingInstance:   r.node,
	}
	result, err := r.correlator.EventCorrelate(event)
	if err != nil || result.Skip {
		return
	}
	var written *corev1.Event
	if result.Event.Count > 1 {
		written, err = r.client.CoreV1().Events(namespace).Patch(ctx, result.Event.Name, types.StrategicMergePatchType, result.Patch, metav1.PatchOptions{})
	}
	if result.Event.Count == 1 || apierrors.IsNotFound(err) {
		result.Event.ResourceVersion = ""
		written, err = r.client.CoreV1().Events(namespace).Create(ctx, result.Event, metav1.CreateOptions{})
	}
	// Ignore errors: a kubelet retries only if the server does not respond.
	if err == nil {
		r.correlator.UpdateState(written)
	}
}
