package fakecluster_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
}

func TestADeploymentIsDefaultedScaledAndValidated(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(fakecluster.Start(t, fakecluster.InProcess()).RESTConfig()).AppsV1().Deployments("default")
	d, err := client.Create(t.Context(), deployment("web"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if *d.Spec.Replicas != 1 || d.Spec.Strategy.Type != "RollingUpdate" || d.Spec.Template.Spec.RestartPolicy != "Always" || d.Generation != 1 {
		t.Errorf("not defaulted: %+v", d)
	}
	scale, err := client.UpdateScale(t.Context(), "web", &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3}}, metav1.UpdateOptions{})
	if err != nil || scale.Spec.Replicas != 3 || scale.Status.Selector != "app=web" {
		t.Fatalf("scale: %+v, %v", scale, err)
	}
	if d, err = client.Get(t.Context(), "web", metav1.GetOptions{}); err != nil || *d.Spec.Replicas != 3 || d.Generation != 2 {
		t.Errorf("scaled: %v, %v", d, err)
	}
	_, err = client.UpdateScale(t.Context(), "web", &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Spec: autoscalingv1.ScaleSpec{Replicas: -1}}, metav1.UpdateOptions{})
	equal(t, "a negative scale", text(err), `Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0`)

	d.Status.Replicas, d.Spec.Paused = 2, true
	if d, err = client.UpdateStatus(t.Context(), d, metav1.UpdateOptions{}); err != nil || d.Status.Replicas != 2 || d.Spec.Paused {
		t.Errorf("status: %v, %v", d, err)
	}

	other := deployment("other")
	other.Spec.Selector.MatchLabels = map[string]string{"app": "another"}
	_, err = client.Create(t.Context(), other, metav1.CreateOptions{})
	equal(t, "a selector that does not match", text(err),
		`Deployment.apps "other" is invalid: spec.template.metadata.labels: Invalid value: {"app":"other"}: `+"`selector` does not match template `labels`")
	d.Spec.Selector.MatchLabels["app"], d.Spec.Template.Labels["app"] = "new", "new"
	_, err = client.Update(t.Context(), d, metav1.UpdateOptions{})
	if text(err) == "" || !strings.HasSuffix(text(err), "field is immutable") {
		t.Errorf("a new selector: %v", err)
	}
}

// Fields that an apply leaves out are defaulted, and no manager owns them.
func TestAnApplyThatCreatesOwnsOnlyItsFields(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(fakecluster.Start(t, fakecluster.InProcess()).RESTConfig()).AppsV1().Deployments("default")
	configuration := appsv1apply.Deployment("web", "default").WithSpec(appsv1apply.DeploymentSpec().
		WithSelector(metav1apply.LabelSelector().WithMatchLabels(map[string]string{"app": "web"})).
		WithTemplate(corev1apply.PodTemplateSpec().WithLabels(map[string]string{"app": "web"}).
			WithSpec(corev1apply.PodSpec().WithContainers(corev1apply.Container().WithName("c").WithImage("i")))))
	d, err := client.Apply(t.Context(), configuration, metav1.ApplyOptions{FieldManager: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if *d.Spec.Replicas != 1 || len(d.ManagedFields) != 1 || d.ManagedFields[0].Manager != "m" {
		t.Errorf("applied: %+v", d)
	}
	equal(t, "owned", string(d.ManagedFields[0].FieldsV1.GetRawBytes()),
		`{"f:spec":{"f:selector":{},"f:template":{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{}}}}}}}`)
	patched, err := client.Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"j"},{"name":"d","image":"k"}]}}}}`), metav1.PatchOptions{FieldManager: "other"})
	if err != nil || len(patched.Spec.Template.Spec.Containers) != 2 {
		t.Fatalf("patched: %v, %v", patched, err)
	}
	_, err = client.Apply(t.Context(), configuration, metav1.ApplyOptions{FieldManager: "m"})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "other" using apps/v1: .spec.template.spec.containers[name="c"].image`) {
		t.Errorf("a conflict: %v", err)
	}
}

// TestOneObjectIsSeenThroughSeveralGroupsAndVersions: it is stored once.
func TestOneObjectIsSeenThroughSeveralGroupsAndVersions(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(fakecluster.Start(t, fakecluster.InProcess()).RESTConfig())
	created, err := client.EventsV1().Events("default").Create(t.Context(), &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "e"}, EventTime: metav1.NowMicro(), ReportingController: "example.com/c", ReportingInstance: "c-1",
		Action: "Doing", Reason: "Done", Type: "Normal", Note: "text", Regarding: corev1.ObjectReference{Namespace: "default", Name: "p", Kind: "Pod"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	old, err := client.CoreV1().Events("default").Get(t.Context(), "e", metav1.GetOptions{})
	if err != nil || old.UID != created.UID || old.Message != "text" || old.InvolvedObject.Name != "p" {
		t.Fatalf("in v1: %+v, %v", old, err)
	}
	list, err := client.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "regarding.name=p"})
	if err != nil || len(list.Items) != 1 || list.Items[0].Note != "text" {
		t.Errorf("selected: %+v, %v", list, err)
	}
	if _, err = client.CoreV1().Events("default").Create(t.Context(), &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "f"}, InvolvedObject: corev1.ObjectReference{Namespace: "other"}}, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("an event about another namespace: %v", err)
	}

	cpu := int32(80)
	if _, err := client.AutoscalingV1().HorizontalPodAutoscalers("default").Create(t.Context(), &autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "h"}, Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			MaxReplicas: 3, TargetCPUUtilizationPercentage: &cpu, ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{Kind: "Deployment", Name: "web", APIVersion: "apps/v1"},
		}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	h, err := client.AutoscalingV2().HorizontalPodAutoscalers("default").Get(t.Context(), "h", metav1.GetOptions{})
	if err != nil || len(h.Spec.Metrics) != 1 || h.Spec.Metrics[0].Type != autoscalingv2.ResourceMetricSourceType || *h.Spec.Metrics[0].Resource.Target.AverageUtilization != 80 {
		t.Errorf("in v2: %+v, %v", h, err)
	}
}

func TestUnsupportedRequestsAreRefusedWithAReason(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/debug/flags/v": "fakecluster does not serve /debug/flags: the verbosity of logs is that of the process, which is the test's",
	} {
		err := client.CoreV1().RESTClient().Get().AbsPath(path).Do(t.Context()).Error()
		status, ok := err.(apierrors.APIStatus)
		if !ok || status.Status().Code != 501 || status.Status().Message != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
