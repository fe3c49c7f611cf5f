package explore_test

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
)

// The server warns about a name of a pull secret that is empty. The user has to know if the name is the user's, and the author of the
// operator if it is the operator's.
func TestTheOperatorIsNotToBlameForWhatItCopiesFromTheUser(t *testing.T) {
	const warning = `spec.template.spec.imagePullSecrets[%].name: invalid empty name ""`
	for name, tc := range map[string]struct {
		own, protobuf bool
		trial         string
		want          string // the place of the warning that is reported; empty: none is
	}{
		"the user's":                        {trial: `set /spec/imagePullSecrets [{}]; create`},
		"the user's, in protobuf":           {trial: `set /spec/imagePullSecrets [{}]; create`, protobuf: true},
		"the user's, beside one":            {trial: `set /spec/imagePullSecrets [{"name":"b"},{"name":""}]; create`},
		"the operator's":                    {trial: `create`, own: true, want: "0"},
		"the operator's, beside":            {trial: `set /spec/imagePullSecrets [{"name":"b"}]; create`, own: true, want: "1"},
		"the operator's, and one elsewhere": {trial: `set /spec/imagePullSecrets [{"name":"b"}]; set /spec/builder {"imagePullSecrets":[{}]}; create`, own: true, want: "1"},
		"the user's, elsewhere":             {trial: `set /spec/builder {"imagePullSecrets":[{}]}; create`, own: true},
		"nobody's":                          {trial: `set /spec/imagePullSecrets [{"name":"b"}]; create`},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := explore.FindOperator(t, explore.Subject{
				Install: []string{"testdata/copier/crd.yaml"},
				Seeds:   []string{"testdata/copier/sample.yaml"},
				Run:     func(ctx context.Context, config *rest.Config) error { return copies(ctx, config, tc.own, tc.protobuf) },
				Replay:  "copiers.example.com default/a: " + tc.trial,
			})
			switch {
			case err != nil:
				t.Fatal(err)
			case tc.want == "" && len(found.Findings) == 0:
			case len(found.Findings) != 1 || tc.want == "" || found.Findings[0].Oracle != explore.CleanWrites ||
				!strings.Contains(found.Findings[0].Report, strings.Replace(warning, "%", tc.want, 1)):
				t.Errorf("found %+v, want a warning at %q", found.Findings, tc.want)
			}
		})
	}
}

// A warning about a claim template of a StatefulSet has a path without its spec.
func TestTheOperatorIsNotToBlameForTheStorageThatAUserWants(t *testing.T) {
	const warning = `spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value "2500m" is invalid, must be an integer`
	for field, want := range map[string]int{`storage "2500m"`: 0, `storage "1Gi"`: 1, `imagePullSecrets [{"name":"2500m"}]`: 1, `size "2500m"`: 0} {
		t.Run(field, func(t *testing.T) {
			found, err := explore.FindOperator(t, explore.Subject{
				Install: []string{"testdata/copier/crd.yaml"},
				Seeds:   []string{"testdata/copier/sample.yaml"},
				Run:     store,
				Replay:  "copiers.example.com default/a: set /spec/" + field + "; create",
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Findings) != want || want == 1 && !strings.Contains(found.Findings[0].Report, warning) {
				t.Errorf("found %+v", found.Findings)
			}
		})
	}
}

// watchCopiers watches the Copiers until ctx ends.
func watchCopiers(ctx context.Context, config *rest.Config) (watch.Interface, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	w, err := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "copiers"}).Namespace("default").Watch(ctx, metav1.ListOptions{})
	if err == nil {
		context.AfterFunc(ctx, w.Stop)
	}
	return w, err
}

// store makes a StatefulSet for each Copier, with a claim of 2500m, whatever its storage is.
func store(ctx context.Context, config *rest.Config) error {
	w, err := watchCopiers(ctx, config)
	if err != nil {
		return err
	}
	statefulSets := kubernetes.NewForConfigOrDie(config).AppsV1().StatefulSets("default")
	for e := range w.ResultChan() {
		if e.Type != watch.Added {
			continue
		}
		name := e.Object.(*unstructured.Unstructured).GetName()
		labels := map[string]string{"of": name}
		_, err := statefulSets.Create(ctx, &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}}},
				VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2500m")}}}}}},
		}, metav1.CreateOptions{})
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// copies makes a Deployment for each Copier, with its pull secrets, and one without a name if own is set.
func copies(ctx context.Context, config *rest.Config, own, protobuf bool) error {
	w, err := watchCopiers(ctx, config)
	if err != nil {
		return err
	}
	if protobuf {
		config = rest.CopyConfig(config)
		config.ContentType = "application/vnd.kubernetes.protobuf"
	}
	deployments := kubernetes.NewForConfigOrDie(config).AppsV1().Deployments("default")
	for e := range w.ResultChan() {
		if e.Type != watch.Added {
			continue
		}
		copier := e.Object.(*unstructured.Unstructured)
		labels := map[string]string{"of": copier.GetName()}
		pods := corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}}
		secrets, _, _ := unstructured.NestedSlice(copier.Object, "spec", "imagePullSecrets")
		for _, secret := range secrets {
			name, _, _ := unstructured.NestedString(secret.(map[string]any), "name")
			pods.ImagePullSecrets = append(pods.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
		}
		if own {
			pods.ImagePullSecrets = append(pods.ImagePullSecrets, corev1.LocalObjectReference{})
		}
		_, err := deployments.Create(ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: copier.GetName()},
			Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pods}},
		}, metav1.CreateOptions{})
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
