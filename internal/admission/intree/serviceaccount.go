package intree

import (
	"context"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstream "k8s.io/apiserver/pkg/admission"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"
)

// ServiceAccount is the name of the plugin that gives Pods a ServiceAccount and its token. A
// server has it on by default only if the controller acts that makes the accounts.
const ServiceAccount = serviceaccount.PluginName

// accounts are the ServiceAccounts of a namespace, for the plugin to look up once more what the
// informer did not have. It is the same store, so there is nothing to wait for: the plugin would
// ask again ten times, with pauses, if it were told that the account default is NotFound. So
// the error has the text of that one, which is all that the plugin's user sees of it.
type accounts struct {
	corev1client.ServiceAccountInterface
}

func (c coreClient) ServiceAccounts(string) corev1client.ServiceAccountInterface { return accounts{} }

func (accounts) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.ServiceAccount, error) {
	return nil, errors.New(apierrors.NewNotFound(core.Resource("serviceaccount"), name).Error())
}

// accountPlugin is upstream's plugin, but for the name of the volume with the token: the cluster
// makes it, so that it repeats with the cluster's seed.
type accountPlugin struct {
	*serviceaccount.Plugin
	name func(base string) string
}

// Admit implements admission.MutationInterface.
func (p accountPlugin) Admit(ctx context.Context, a upstream.Attributes, o upstream.ObjectInterfaces) error {
	pod, isPod := a.GetObject().(*core.Pod)
	before := 0
	if isPod {
		before = len(pod.Spec.Volumes)
	}
	if err := p.Plugin.Admit(ctx, a, o); err != nil || !isPod || len(pod.Spec.Volumes) == before {
		return err
	}
	const base = serviceaccount.ServiceAccountVolumeName + "-"
	volume := &pod.Spec.Volumes[len(pod.Spec.Volumes)-1] // the plugin appends one at most
	if !strings.HasPrefix(volume.Name, base) {
		return nil
	}
	was := volume.Name
	volume.Name = p.name(base)
	for _, containers := range [][]core.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for m := range containers[i].VolumeMounts {
				if mount := &containers[i].VolumeMounts[m]; mount.Name == was {
					mount.Name = volume.Name
				}
			}
		}
	}
	return nil
}
