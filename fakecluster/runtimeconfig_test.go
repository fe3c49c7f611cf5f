package fakecluster_test

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestWithRuntimeConfig(t *testing.T) {
	beta := schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1beta2", Resource: "deviceclasses"}
	for name, test := range map[string]struct {
		options []fakecluster.Option
		served  []string
	}{
		"a version that is off by default is not served": {nil, []string{"v1"}},
		"it is served when enabled":                      {[]fakecluster.Option{fakecluster.WithRuntimeConfig("resource.k8s.io/v1beta2=true")}, []string{"v1", "v1beta2"}},
		"a version without a value is enabled":           {[]fakecluster.Option{fakecluster.WithRuntimeConfig("resource.k8s.io/v1beta2")}, []string{"v1", "v1beta2"}},
		"all of a stability, except one": {[]fakecluster.Option{
			fakecluster.WithRuntimeConfig("api/beta=true,resource.k8s.io/v1beta1=false"),
		}, []string{"v1", "v1beta2"}},
		"all versions, except one": {[]fakecluster.Option{
			fakecluster.WithRuntimeConfig("resource.k8s.io/v1beta1=false,api/all=true"),
		}, []string{"v1", "v1beta2", "v1alpha3"}},
		"what is said of a stability counts more than what is said of all, in whatever order they stand": {[]fakecluster.Option{
			fakecluster.WithRuntimeConfig("api/beta=false,api/all"),
		}, []string{"v1", "v1alpha3"}},
		"a version that is served anyway": {[]fakecluster.Option{
			fakecluster.WithRuntimeConfig("api/ga=true,resource.k8s.io/v1,apiextensions.k8s.io/v1=true"),
		}, []string{"v1"}},
		"several options": {[]fakecluster.Option{
			fakecluster.WithRuntimeConfig("resource.k8s.io/v1beta2=true"), fakecluster.WithRuntimeConfig("resource.k8s.io/v1beta1=true"),
		}, []string{"v1", "v1beta2", "v1beta1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := fakecluster.Start(t, append(test.options, fakecluster.InProcess())...)
			groups, err := c.Discovery().ServerGroups()
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == beta.Group })
			var served []string
			for _, v := range groups.Groups[i].Versions {
				served = append(served, v.Version)
			}
			if !slices.Equal(served, test.served) {
				t.Errorf("versions: want %v, got %v", test.served, served)
			}
			_, err = c.Dynamic().Resource(beta).List(t.Context(), metav1.ListOptions{})
			if slices.Contains(test.served, beta.Version) != (err == nil) || err != nil && !apierrors.IsNotFound(err) {
				t.Errorf("a list in %s: %v", beta.Version, err)
			}
		})
	}
	for text, want := range map[string]string{
		"resource.k8s.io/v1beta9=true":    "there is no such version; those that are off by default are",
		"resource.k8s.io/v1beta2=perhaps": "the value must be true or false",
		"api/legacy=true":                 `"api/legacy": unknown name; write api/all, api/ga, api/beta, api/alpha or a version`,
		"api/ga=false":                    `"api/ga=false": fakecluster cannot turn off all stable versions, because the server itself needs v1 and the versions of admissionregistration.k8s.io, apiextensions.k8s.io, apiregistration.k8s.io, networking.k8s.io, rbac.authorization.k8s.io, storagemigration.k8s.io: name the versions to turn off`,
		"networking.k8s.io/v1=false":      `"networking.k8s.io/v1=false": fakecluster cannot turn off the version, because the server itself needs it`,
		"v1=false":                        `"v1=false": fakecluster cannot turn off the version, because the server itself needs it`,
	} {
		if got := refused(t, fakecluster.WithRuntimeConfig(text)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// Versions that former releases had are not served either way, and may be named all the same.
func TestWithRuntimeConfigTakesVersionsOfFormerReleases(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithRuntimeConfig("networking.k8s.io/v1beta1=true,policy/v1beta1=true,authentication.k8s.io/v1beta1=true,batch/v1beta1=false"))
	for _, path := range []string{"/apis/networking.k8s.io/v1beta1", "/apis/policy/v1beta1", "/apis/authentication.k8s.io/v1beta1", "/apis/batch/v1beta1"} {
		if code, _ := send(t, c, path); code != 404 {
			t.Errorf("%s: %d", path, code)
		}
	}
}

// A version that is turned off is not there, and neither are its APIService and the objects
// that a cluster begins with. Another version of the same kinds shows them still.
func TestWithRuntimeConfigTurnsVersionsOff(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(),
		fakecluster.WithRuntimeConfig("apps/v1=false,autoscaling/v2=false,scheduling.k8s.io/v1=false,discovery.k8s.io/v1=false"),
		fakecluster.WithControllers(fakecluster.AllControllers()...))
	_, index := send(t, c, "/")
	for path, served := range map[string]bool{
		"/apis/apps": false, "/apis/apps/v1": false, "/apis/scheduling.k8s.io/v1": false, "/apis/autoscaling/v2": false,
		"/apis/autoscaling/v1": true, "/apis/batch/v1": true,
	} {
		if code, body := send(t, c, path); (code == 200) != served || !served && (code != 404 || body != "404 page not found\n") && path != "/apis/autoscaling/v2" {
			t.Errorf("%s: %d %q", path, code, body)
		}
		if strings.Contains(index, `"`+path+`"`) != served {
			t.Errorf("%s in the index: %v", path, !served)
		}
	}
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	if _, err := c.Dynamic().Resource(deployments).List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("Deployments: %v", err)
	}
	if _, err := c.Dynamic().Resource(apiServices).Get(t.Context(), "v1.apps", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the APIService: %v", err)
	}
	scalers := schema.GroupVersionResource{Group: "autoscaling", Version: "v1", Resource: "horizontalpodautoscalers"}
	hpa := &unstructured.Unstructured{}
	if err := hpa.UnmarshalJSON([]byte(`{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},
		"spec":{"maxReplicas":2,"scaleTargetRef":{"kind":"Deployment","name":"a","apiVersion":"apps/v1"}}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Dynamic().Resource(scalers).Namespace("default").Create(t.Context(), hpa, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "n"}}}
	if _, err := c.Dynamic().Resource(namespaces).Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Dynamic().Resource(namespaces).Delete(t.Context(), "n", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := c.Dynamic().Resource(namespaces).Get(t.Context(), "n", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v", err)
	}
	c.Fork(t)
}
