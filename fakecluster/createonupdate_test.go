package fakecluster_test

import (
	"context"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// For a kind that updates may create, an update of a missing object creates it. This holds also if
// another client deletes the object while the update is under way.
func TestAnUpdateCreatesAnObjectThatIsDeletedMeanwhile(t *testing.T) {
	var events kubernetes.Interface
	deleted := 0
	cluster := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAdmission(func(ctx context.Context, r *fakecluster.AdmissionRequest) error {
		if r.Operation != admissionv1.Update || r.Kind.Kind != "Event" {
			return nil
		}
		deleted++
		return events.CoreV1().Events("default").Delete(ctx, r.Name, metav1.DeleteOptions{})
	}, nil))
	events = kubernetes.NewForConfigOrDie(cluster.RESTConfig())
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "default"}, Reason: "before"}
	created, err := events.CoreV1().Events("default").Create(t.Context(), event, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	event.Reason = "after"
	updated, err := events.CoreV1().Events("default").Update(t.Context(), event, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if deleted != 1 || updated.UID == created.UID || updated.Reason != "after" {
		t.Errorf("%d deletes, then %q with uid %s; it was %s", deleted, updated.Reason, updated.UID, created.UID)
	}
}
