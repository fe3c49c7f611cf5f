package controlplane

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// watchTimeout is the duration of a watch of an informer, which by default is five to ten minutes.
const watchTimeout = 10 * 365 * 24 * time.Hour

// newInformers returns a factory of informers of the objects that a field selector matches. Idle informers cost nothing:
// a watch does not end, and has no bookmarks, which would come every minute. An informer whose watch ends lists again if
// the history no longer has its last event.
func newInformers(client kubernetes.Interface, fieldSelector string) informers.SharedInformerFactory {
	seconds := int64(watchTimeout / time.Second)
	return informers.NewSharedInformerFactoryWithOptions(listThenWatch{client}, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fieldSelector
			o.AllowWatchBookmarks = false
			if o.TimeoutSeconds != nil {
				o.TimeoutSeconds = &seconds
			}
		}),
		// The autoscaler asks for a resync every 15 seconds. Without this the informer logs that it cannot.
		informers.WithCustomResyncConfig(map[metav1.Object]time.Duration{&autoscalingv2.HorizontalPodAutoscaler{}: autoscalerSync}),
		informers.WithTransform(func(obj any) (any, error) {
			if accessor, err := meta.Accessor(obj); err == nil {
				accessor.SetManagedFields(nil)
			}
			return obj, nil
		}))
}

// listThenWatch is a client whose informers list before they watch. Watches that also send the initial objects need
// bookmarks.
type listThenWatch struct{ kubernetes.Interface }

// IsWatchListSemanticsUnSupported is a method that client-go checks for.
func (listThenWatch) IsWatchListSemanticsUnSupported() bool { return true }
