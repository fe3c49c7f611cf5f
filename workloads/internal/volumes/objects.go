package volumes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// ConfigMap reads a ConfigMap of the pod's namespace. It returns an empty one if it is optional and does not exist.
func (p *Pod) ConfigMap(ctx context.Context, name string, optional *bool) (*corev1.ConfigMap, error) {
	object, err := p.node.config.Client.CoreV1().ConfigMaps(p.api.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err = Missing(err, "configmap", name); err != nil {
		object = &corev1.ConfigMap{}
		if isMissing(err) && ptr.Deref(optional, false) {
			err = nil
		}
	}
	return object, err
}

// Secret reads a Secret of the pod's namespace. It returns an empty one if it is optional and does not exist.
func (p *Pod) Secret(ctx context.Context, name string, optional *bool) (*corev1.Secret, error) {
	object, err := p.node.config.Client.CoreV1().Secrets(p.api.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err = Missing(err, "secret", name); err != nil {
		object = &corev1.Secret{}
		if isMissing(err) && ptr.Deref(optional, false) {
			err = nil
		}
	}
	return object, err
}
