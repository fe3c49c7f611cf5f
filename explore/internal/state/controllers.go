package state

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Kubernetes' controllers write down the past: a Deployment counts its revisions, and keeps a ReplicaSet of each. A state does not have that, because an operator
// that changes a Deployment does the same as one that creates it that way.

// hashLabels are labels with a hash of a template of Pods. The server's defaults are part of it, and they may depend on the former template: that of
// imagePullPolicy does.
var hashLabels = []string{"pod-template-hash", "controller-revision-hash"}

// isMeans reports whether an object is the means by which a controller makes Pods: a ReplicaSet of a Deployment.
func isMeans(o Object) bool {
	owner := metav1.GetControllerOf(o)
	return o.Resource == "replicasets.apps" && owner != nil && owner.Kind == "Deployment"
}

// hashes returns the hashes in the labels of a Pod or a ReplicaSet.
func hashes(o Object) (found []string) {
	if o.Resource != "pods" && o.Resource != "replicasets.apps" {
		return nil
	}
	for _, label := range hashLabels {
		if hash := o.GetLabels()[label]; hash != "" {
			found = append(found, hash)
		}
	}
	return found
}

// withoutHashes removes the hashes of an object's labels from a name of it.
func (o Object) withoutHashes(name string) string {
	for _, hash := range hashes(o) {
		name = strings.Replace(name, "-"+hash, "", 1)
	}
	return name
}

// hidePlacement removes what follows from the Node that the scheduler has chosen for a Pod, and on which a provisioner has therefore made a volume.
// A binding has no field manager, so that a nodeName with one is the choice of a client.
func hidePlacement(o Object, copied map[string]any) {
	switch o.Resource {
	case "pods":
		if slices.ContainsFunc(o.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
			return entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:nodeName"`))
		}) {
			return
		}
		for _, path := range [][]string{{"spec", "nodeName"}, {"status", "hostIP"}, {"status", "hostIPs"},
			{"metadata", "labels", corev1.LabelTopologyRegion}, {"metadata", "labels", corev1.LabelTopologyZone}} {
			unstructured.RemoveNestedField(copied, path...)
		}
	case "persistentvolumeclaims":
		unstructured.RemoveNestedField(copied, "metadata", "annotations", "volume.kubernetes.io/selected-node")
	case "persistentvolumes":
		if o.GetAnnotations()["pv.kubernetes.io/provisioned-by"] != "" {
			unstructured.RemoveNestedField(copied, "spec", "nodeAffinity")
		}
	}
}

// hideKubelet removes from the status of a Node what its kubelet reports about Pods that there are or were.
func hideKubelet(node map[string]any) {
	for _, field := range []string{"images", "volumesInUse", "volumesAttached"} {
		unstructured.RemoveNestedField(node, "status", field)
	}
}

// ordinal is the end of a name that a StatefulSet gives a Pod. It sets generateName, too.
var ordinal = regexp.MustCompile(`^\d{1,4}$`)

// hideRevisions removes the numbers and the names of revisions from a Deployment, a StatefulSet or a DaemonSet. A StatefulSet has two as long as it is being updated.
func hideRevisions(object map[string]any) {
	annotations, _, _ := unstructured.NestedMap(object, "metadata", "annotations")
	for key := range annotations {
		if strings.HasPrefix(key, "deployment.kubernetes.io/") || key == "deprecated.daemonset.template.generation" {
			unstructured.RemoveNestedField(object, "metadata", "annotations", key)
		}
	}
	status, ok := object["status"].(map[string]any)
	delete(status, "collisionCount") // of names of ReplicaSets
	if !ok || status["updateRevision"] == nil {
		return
	}
	if status["currentRevision"] != status["updateRevision"] {
		status["currentRevision"] = "<another one than updateRevision>"
	} else {
		delete(status, "currentRevision")
	}
	delete(status, "updateRevision")
}
