// Package play plays histories in a cluster, and writes the cluster that they leave as a text that can be compared: objects,
// Events, and what steps have found, without what differs between any two clusters.
package play

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/conformance/living/history"
)

const (
	// quiet is how long nothing happens in a cluster that is quiet. The Job controller gathers changes for a second, the scheduler
	// looks again after one second, and containers that fail and images that are missing come again after ten.
	quiet = 3 * time.Second
	// limit is how long a step may take.
	limit = 2 * time.Minute
)

// Break does to a Node what no request does.
type Break func(ctx context.Context, node string, how history.Fault) error

// Play plays a history in a namespace, which it creates, and returns the cluster that is left.
func Play(ctx context.Context, config *rest.Config, namespace string, h history.History, breaks Break) (string, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &world{client: client, namespace: namespace, breaks: breaks}
	if err := w.Create(ctx, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}"); err != nil {
		return "", err
	}
	if w.recorder, err = newRecorder(ctx, client); err != nil {
		return "", err
	}
	defer w.close()
	for _, s := range append([]history.Step{{What: "begin"}}, h.Steps...) {
		if s.Do != nil {
			if err := s.Do(ctx, w); err != nil {
				w.notes = append(w.notes, "cannot "+s.What+": "+err.Error())
			}
		}
		happened, err := w.wait(ctx, quiet, limit, func() bool { return s.Until == nil || s.Until(w) })
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.What, err)
		}
		if !happened {
			w.notes = append(w.notes, "after "+s.What+": the cluster does not become quiet")
		}
	}
	return w.describe()
}

// world is a cluster while a history is played in it.
type world struct {
	*recorder
	client    dynamic.Interface
	namespace string
	breaks    Break
	notes     []string // what steps have found
}

var _ history.World = &world{}

// resource returns the client of a kind.
func (w *world) resource(name string) dynamic.ResourceInterface {
	k, ok := kinds[name]
	if !ok {
		panic("the kind " + name + " is not in the table of kinds")
	}
	if k.namespaced {
		return w.client.Resource(k.GroupVersionResource).Namespace(w.namespace)
	}
	return w.client.Resource(k.GroupVersionResource)
}

// Create implements history.World.
func (w *world) Create(ctx context.Context, manifest string) error {
	for _, document := range strings.Split(manifest, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return err
		}
		if _, err := w.resource(object.GetKind()).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// Patch implements history.World.
func (w *world) Patch(ctx context.Context, kind, name, patch string) error {
	data, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		return err
	}
	_, err = w.resource(kind).Patch(ctx, name, types.StrategicMergePatchType, data, metav1.PatchOptions{})
	return err
}

// Scale implements history.World.
func (w *world) Scale(ctx context.Context, kind, name string, replicas int) error {
	_, err := w.resource(kind).Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), metav1.PatchOptions{}, "scale")
	return err
}

// Delete implements history.World.
func (w *world) Delete(ctx context.Context, kind, name, propagation string) error {
	options := metav1.DeleteOptions{}
	if propagation != "" {
		options.PropagationPolicy = new(metav1.DeletionPropagation(propagation))
	}
	if kind == "Namespace" {
		name = w.namespace
	}
	return w.resource(kind).Delete(ctx, name, options)
}

// DeleteNow implements history.World.
func (w *world) DeleteNow(ctx context.Context, kind, name string) error {
	return w.resource(kind).Delete(ctx, name, *metav1.NewDeleteOptions(0))
}

// Break implements history.World.
func (w *world) Break(ctx context.Context, node string, how history.Fault) error {
	return w.breaks(ctx, node, how)
}

// Evict implements history.World.
func (w *world) Evict(ctx context.Context, pods []string) error {
	allowed, refused := 0, map[string]int{}
	for _, pod := range pods {
		eviction, err := json.Marshal(policyv1.Eviction{
			TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
			ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: w.namespace},
		})
		if err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(eviction); err != nil {
			return err
		}
		_, err = w.resource("Pod").Create(ctx, object, metav1.CreateOptions{}, "eviction")
		switch {
		case err == nil:
			allowed++
		case apierrors.IsTooManyRequests(err): // its cause depends on whether the budget has noticed the last eviction
			refused[err.Error()]++
		default:
			return err
		}
	}
	w.notes = append(w.notes, fmt.Sprintf("evictions: %d allowed, refused: %v", allowed, refused))
	return nil
}

// Get implements history.World.
func (w *world) Get(kind, name string) *unstructured.Unstructured {
	if kind == "Namespace" {
		name = w.namespace
	}
	for _, object := range w.All(kind) {
		if object.GetName() == name {
			return object
		}
	}
	return nil
}

// All implements history.World.
func (w *world) All(kind string) []*unstructured.Unstructured {
	if kinds[kind].namespaced {
		return w.objects(kind, w.namespace)
	}
	return w.objects(kind, "")
}
