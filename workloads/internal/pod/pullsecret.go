package pod

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reportPullSecrets records the Secrets of spec.imagePullSecrets that cannot be read. A kubelet does so only after a
// sync in which an image could not be pulled.
func (p *Pod) reportPullSecrets(ctx context.Context) {
	var missing []string
	for _, ref := range p.api.Spec.ImagePullSecrets {
		if ref.Name == "" {
			continue // an old object may have it
		}
		if _, err := p.node.config.Client.CoreV1().Secrets(p.api.Namespace).Get(ctx, ref.Name, metav1.GetOptions{}); err != nil {
			missing = append(missing, ref.Name)
		}
	}
	if len(missing) > 0 {
		p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeWarning, "FailedToRetrieveImagePullSecret",
			"Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.", strings.Join(missing, ", "))
	}
}
