package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/kubelet/events"
	"k8s.io/utils/ptr"
)

// mountVolumes checks that what the volumes of the pod refer to exists, and reports whether they are mounted. It
// tries again with the delays of the kubelet's volume manager.
func (p *pod) mountVolumes(ctx context.Context, now time.Time) bool {
	if p.mounted {
		return true
	}
	if now.Before(p.mount.at) {
		return false
	}
	failed := false
	for i := range p.api.Spec.Volumes {
		volume := &p.api.Spec.Volumes[i]
		if err := p.checkVolume(ctx, volume); err != nil {
			failed = true
			p.node.events.pod(ctx, p.api, corev1.EventTypeWarning, events.FailedMountVolume,
				"MountVolume.SetUp failed for volume %q : %v", volume.Name, err)
		}
	}
	if failed {
		p.mount.failed(now, 500*time.Millisecond, 2*time.Minute+2*time.Second)
		return false
	}
	p.mounted, p.mount = true, retry{}
	return true
}

func (p *pod) checkVolume(ctx context.Context, volume *corev1.Volume) error {
	switch {
	case volume.ConfigMap != nil:
		keys := itemKeys(volume.ConfigMap.Items)
		return p.checkKeys(ctx, "configmap", volume.ConfigMap.Name, keys, ptr.Deref(volume.ConfigMap.Optional, false))
	case volume.Secret != nil:
		keys := itemKeys(volume.Secret.Items)
		return p.checkKeys(ctx, "secret", volume.Secret.SecretName, keys, ptr.Deref(volume.Secret.Optional, false))
	case volume.Projected != nil:
		var errs []error
		for _, source := range volume.Projected.Sources {
			if c := source.ConfigMap; c != nil {
				errs = append(errs, p.checkKeys(ctx, "configmap", c.Name, itemKeys(c.Items), ptr.Deref(c.Optional, false)))
			}
			if s := source.Secret; s != nil {
				errs = append(errs, p.checkKeys(ctx, "secret", s.Name, itemKeys(s.Items), ptr.Deref(s.Optional, false)))
			}
		}
		return aggregate(errs)
	}
	return nil
}

func itemKeys(items []corev1.KeyToPath) []string {
	var keys []string
	for _, item := range items {
		keys = append(keys, item.Key)
	}
	return keys
}

// aggregate prints several errors as the kubelet does.
func aggregate(errs []error) error {
	var messages []string
	for _, err := range errs {
		if err != nil {
			messages = append(messages, err.Error())
		}
	}
	switch len(messages) {
	case 0:
		return nil
	case 1:
		return errors.New(messages[0])
	}
	return fmt.Errorf("%v", messages)
}

// checkKeys reads a ConfigMap or Secret, and looks for the keys that are mounted.
func (p *pod) checkKeys(ctx context.Context, kind, name string, keys []string, optional bool) error {
	have, err := p.read(ctx, kind, name)
	if err != nil {
		if optional && isMissing(err) {
			return nil
		}
		return err
	}
	for _, key := range keys {
		if !have[key] && !optional {
			return fmt.Errorf("references non-existent %s key: %s", map[string]string{"configmap": "config", "secret": "secret"}[kind], key)
		}
	}
	return nil
}

// read returns the keys of a ConfigMap or Secret of the pod's namespace.
func (p *pod) read(ctx context.Context, kind, name string) (map[string]bool, error) {
	keys := map[string]bool{}
	switch kind {
	case "configmap":
		object, err := p.node.client.CoreV1().ConfigMaps(p.api.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, plain(err, "configmap", name)
		}
		for key := range object.Data {
			keys[key] = true
		}
		for key := range object.BinaryData {
			keys[key] = true
		}
	case "secret":
		object, err := p.node.client.CoreV1().Secrets(p.api.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, plain(err, "secret", name)
		}
		for key := range object.Data {
			keys[key] = true
		}
	}
	return keys, nil
}

// configured checks what the environment of a container refers to.
func (p *pod) configured(ctx context.Context, spec *corev1.Container) error {
	for _, from := range spec.EnvFrom {
		if r := from.ConfigMapRef; r != nil {
			if err := p.checkKeys(ctx, "configmap", r.Name, nil, ptr.Deref(r.Optional, false)); err != nil {
				return err
			}
		}
		if r := from.SecretRef; r != nil {
			if err := p.checkKeys(ctx, "secret", r.Name, nil, ptr.Deref(r.Optional, false)); err != nil {
				return err
			}
		}
	}
	for _, env := range spec.Env {
		if env.ValueFrom == nil {
			continue
		}
		if r := env.ValueFrom.ConfigMapKeyRef; r != nil {
			if err := p.checkKey(ctx, "configmap", "ConfigMap", r.Name, r.Key, ptr.Deref(r.Optional, false)); err != nil {
				return err
			}
		}
		if r := env.ValueFrom.SecretKeyRef; r != nil {
			if err := p.checkKey(ctx, "secret", "Secret", r.Name, r.Key, ptr.Deref(r.Optional, false)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pod) checkKey(ctx context.Context, kind, title, name, key string, optional bool) error {
	have, err := p.read(ctx, kind, name)
	switch {
	case err != nil && optional && isMissing(err):
		return nil
	case err != nil:
		return err
	case !have[key] && !optional:
		return fmt.Errorf("couldn't find key %s in %s %s/%s", key, title, p.api.Namespace, name)
	}
	return nil
}
