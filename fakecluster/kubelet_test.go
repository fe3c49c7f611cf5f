package fakecluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// TestAKubeletInATest: in a bubble the grace period of a pod passes at once, and a test can be the
// scheduler and the kubelet. The client speaks protobuf.
func TestAKubeletInATest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := fakecluster.Start(t, fakecluster.InProcess()).RESTConfig()
		config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
		client := kubernetes.NewForConfigOrDie(config)
		pods := client.CoreV1().Pods("default")
		ctx := t.Context()
		pod, err := pods.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"app": "p"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		events, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: pod.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		defer events.Stop()
		if err := pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		service, err := client.CoreV1().Services("default").Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{Selector: pod.Labels, Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		if err != nil || service.Spec.ClusterIP == "" {
			t.Fatalf("%+v, %v", service, err)
		}
		if _, err := client.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		token, err := client.CoreV1().ServiceAccounts("default").CreateToken(ctx, "a", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil || time.Until(token.Status.ExpirationTimestamp.Time) != time.Hour {
			t.Errorf("%+v, %v", token, err)
		}

		began := time.Now()
		if err := pods.EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p"}}); err != nil {
			t.Fatal(err)
		}
		for e := range events.ResultChan() {
			p := e.Object.(*corev1.Pod)
			if e.Type == watch.Deleted {
				break
			}
			if p.DeletionTimestamp != nil && *p.DeletionGracePeriodSeconds > 0 {
				equal(t, "the pod may run until", p.DeletionTimestamp.UTC().String(), began.Add(30*time.Second).UTC().String())
				time.Sleep(time.Until(p.DeletionTimestamp.Time))
				if err := pods.Delete(ctx, "p", *metav1.NewDeleteOptions(0)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := pods.Get(ctx, "p", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the pod is not gone: %v", err)
		}
		equal(t, "time that passed", time.Since(began).String(), "30s")
	})
}
