package controller

import (
	"fmt"
	"slices"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record/util"
)

var events = kind{"", "events"}

// report records an Event about an object for each dangling owner that exists in another namespace.
func (g *collector) report(s *step, it *owned, dangling []types.UID) error {
	for _, reference := range it.owners {
		if it.namespace == "" || !slices.Contains(dangling, reference.UID) {
			continue
		}
		elsewhere, err := g.existsElsewhere(s, it, reference)
		if err != nil {
			return err
		}
		if !elsewhere {
			continue
		}
		now := metav1.NewTime(s.now())
		name, kind := it.resource.NameOf(it.record.Key), gjson.GetMany(it.record.Value, "apiVersion", "kind")
		err = s.create(events, it.namespace, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: it.namespace, Name: util.GenerateEventName(name, now.UnixNano())},
			InvolvedObject: corev1.ObjectReference{APIVersion: kind[0].Str, Kind: kind[1].Str, Namespace: it.namespace, Name: name, UID: types.UID(it.uid)},
			Type:           corev1.EventTypeWarning, Reason: "OwnerRefInvalidNamespace",
			Message: fmt.Sprintf("ownerRef [%s/%s, namespace: %s, name: %s, uid: %s] does not exist in namespace %q",
				reference.APIVersion, reference.Kind, it.namespace, reference.Name, reference.UID, it.namespace),
			FirstTimestamp: now, LastTimestamp: now, Count: 1,
			Source: corev1.EventSource{Component: "garbage-collector-controller"}, ReportingController: "garbage-collector-controller",
		})
		if apierrors.IsForbidden(err) {
			return nil // the namespace is being deleted
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// existsElsewhere reports whether an owner exists in another namespace than the object.
func (g *collector) existsElsewhere(s *step, it *owned, reference metav1.OwnerReference) (bool, error) {
	if _, gone := g.graph.isGone(string(reference.UID)); gone {
		return false, nil
	}
	res, err := kindOf(s, schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind))
	if err != nil || res == nil || !res.Namespaced {
		return false, err
	}
	records, err := s.records(res, "")
	if err != nil {
		return false, err
	}
	for _, record := range records {
		if res.NamespaceOf(record.Key) != it.namespace && gjson.Get(record.Value, "metadata.uid").Str == string(reference.UID) {
			return true, nil
		}
	}
	return false, nil
}
