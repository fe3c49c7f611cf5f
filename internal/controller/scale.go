package controller

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// scaleOf returns the uid of the controller of a Pod, and how many replicas it wants. For a
// ReplicaSet that a Deployment controls, it is the Deployment. The uid is empty if there is no
// such controller.
func scaleOf(s *step, owner *metav1.OwnerReference, namespace string) (types.UID, int32, error) {
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return "", 0, err
	}
	if owner.Kind == "ReplicaSet" && (gv.Group == appsv1.GroupName || gv.Group == "extensions") {
		set, err := find[*appsv1.ReplicaSet](s, replicaSets, namespace, owner.Name)
		if err != nil {
			return "", 0, err
		}
		if set != nil && set.UID == owner.UID {
			if of := metav1.GetControllerOf(set); of != nil && of.Kind == "Deployment" {
				deployment, err := find[*appsv1.Deployment](s, deployments, namespace, of.Name)
				if err != nil {
					return "", 0, err
				}
				if deployment != nil && deployment.UID == of.UID {
					return deployment.UID, *deployment.Spec.Replicas, nil
				}
			}
		}
	}
	return readScale(s, gv.WithKind(owner.Kind), owner, namespace)
}

// readScale reads the scale subresource of an object of any kind.
func readScale(s *step, of schema.GroupVersionKind, owner *metav1.OwnerReference, namespace string) (types.UID, int32, error) {
	registry, err := s.server.Registry()
	if err != nil {
		return "", 0, err
	}
	var v *resource.Version
	if res := registry.Kind(of); res != nil {
		v = res.Version(of.Version)
	}
	if v == nil || !v.Served {
		return "", 0, &meta.NoKindMatchError{GroupKind: of.GroupKind(), SearchedVersions: []string{of.Version}}
	}
	sub := v.Subresource["scale"]
	if sub == nil || sub.Projection == nil {
		return "", 0, fmt.Errorf("%s does not implement the scale subresource", v.Resource.GroupResource())
	}
	record, err := s.server.Records.Get(v.Resource.Key(namespace, owner.Name))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", 0, err
	}
	s.read = append(s.read, store.Precondition{Key: v.Resource.Key(namespace, owner.Name), Revision: record.Revision})
	if err != nil {
		return "", 0, nil
	}
	obj, err := v.Codec.DecodeStored(record)
	if err != nil {
		return "", 0, err
	}
	shown, err := sub.Projection.Of(obj)
	if err != nil {
		return "", 0, err
	}
	view := sub.Projection.View()
	scale := &autoscalingv1.Scale{}
	if typed, ok := shown.(*autoscalingv1.Scale); ok {
		scale = typed
	} else if err := view.Codec.Objects().Convert(shown, scale, nil); err != nil {
		return "", 0, apierrors.NewInternalError(err)
	}
	if scale.UID != owner.UID {
		return "", 0, nil
	}
	return scale.UID, scale.Spec.Replicas, nil
}
