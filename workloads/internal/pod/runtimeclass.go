package pod

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/seeded"
	"github.com/fakecluster/fakecluster/workloads/internal/volumes"
)

// checkRuntime returns the error of the kubelet or containerd if the node cannot create the sandbox of the pod with its
// RuntimeClass. attempt is the number of failures so far.
func (p *Pod) checkRuntime(ctx context.Context, attempt int) error {
	name := ptr.Deref(p.api.Spec.RuntimeClassName, "")
	if name == "" {
		return nil
	}
	class, err := p.node.config.Client.NodeV1().RuntimeClasses().Get(ctx, name, metav1.GetOptions{})
	if err = volumes.Missing(err, "runtimeclass.node.k8s.io", name); err != nil {
		return err
	}
	has := func(h corev1.NodeRuntimeHandler) bool { return h.Name == class.Handler }
	if slices.ContainsFunc(p.node.config.Spec.Status.RuntimeHandlers, has) {
		return nil
	}
	return fmt.Errorf("rpc error: code = Unknown desc = unable to get OCI runtime for sandbox %q: no runtime for %q is configured",
		seeded.Digest(p.node.config.Seed, p.api.UID, "sandbox", attempt), class.Handler)
}
