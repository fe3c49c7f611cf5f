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

// ServiceAccount is the name of the plugin that gives Pods a ServiceAccount and its token.
// It is on by default only if the controller that creates the accounts acts.
const ServiceAccount = serviceaccount.PluginName

// accounts is the client with which the plugin looks up an account that the informer did not
// have. The informer reads the same store, so the account does not exist. If the error were a
// NotFound, the plugin would ask again ten times for the account default, with pauses. So the
// error only has the text of a NotFound, which is all that the user of the plugin sees of it.
type accounts struct {
	corev1client.ServiceAccountInterface
}

func (c coreClient) ServiceAccounts(string) corev1client.ServiceAccountInterface { return accounts{} }

func (accounts) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.ServiceAccount, error) {
	return nil, errors.New(apierrors.NewNotFound(core.Resource("serviceaccount"), name).Error())
}

// accountPlugin is upstream's plugin, except that the cluster generates the name of the volume
// with the token, so that it repeats with the cluster's seed.
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
