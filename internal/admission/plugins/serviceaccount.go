package plugins

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/apiserver/pkg/admission"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// ServiceAccount is the name of the plugin that sets the ServiceAccount and the token of Pods. It is on by default only
// if the controller that creates the accounts acts.
const ServiceAccount = serviceaccount.PluginName

// accounts is the client with which the plugin looks up an account that the informer does not have. The informer reads
// the same store, so the account does not exist.
//
// A controller may be about to create the account default, so upstream's plugin reads it ten times, with pauses, while
// the error is NotFound. Here Get waits for the account, and its error has only the text of a NotFound, which is all
// that the client gets.
type accounts struct {
	corev1client.ServiceAccountInterface
	cluster   Cluster
	namespace string
}

// longestWait is how long a Pod waits for the account default of its namespace. Upstream's pauses take from 0.9 to 1.8
// seconds.
const longestWait = time.Second

func (c coreClient) ServiceAccounts(namespace string) corev1client.ServiceAccountInterface {
	return accounts{cluster: c.cluster, namespace: namespace}
}

func (a accounts) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.ServiceAccount, error) {
	if err := requestable(name); err != nil {
		return nil, err
	}
	accounts := a.cluster.Registry().Resource("", "serviceaccounts").Version("v1")
	get := a.cluster.Get
	if name == serviceaccount.DefaultServiceAccountName {
		get = func(version *resource.Version, namespace, name string) (runtime.Object, error) {
			ctx, cancel := context.WithTimeout(ctx, longestWait)
			defer cancel()
			return a.cluster.Await(ctx, version, namespace, name)
		}
	}
	obj, err := get(accounts, a.namespace, name)
	if apierrors.IsNotFound(err) {
		err = errors.New(apierrors.NewNotFound(core.Resource("serviceaccount"), name).Error())
	}
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.ServiceAccount), nil
}

// accountPlugin is upstream's plugin, but the cluster generates the name of the token's volume, so that it follows the
// cluster's seed.
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
	volume := &pod.Spec.Volumes[len(pod.Spec.Volumes)-1] // the plugin appends at most one
	if !strings.HasPrefix(volume.Name, base) {
		return nil
	}
	former := volume.Name
	volume.Name = p.name(base)
	for _, containers := range [][]core.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for m := range containers[i].VolumeMounts {
				if mount := &containers[i].VolumeMounts[m]; mount.Name == former {
					mount.Name = volume.Name
				}
			}
		}
	}
	return nil
}
