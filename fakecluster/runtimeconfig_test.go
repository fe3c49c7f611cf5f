package fakecluster_test

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		"it is served when asked for":                    {[]fakecluster.Option{fakecluster.WithRuntimeConfig("resource.k8s.io/v1beta2=true")}, []string{"v1", "v1beta2"}},
		"a version without a value is asked for":         {[]fakecluster.Option{fakecluster.WithRuntimeConfig("resource.k8s.io/v1beta2")}, []string{"v1", "v1beta2"}},
		"all of a stability, but for one": {[]fakecluster.Option{
			fakecluster.WithRuntimeConfig("api/beta=true,resource.k8s.io/v1beta1=false"),
		}, []string{"v1", "v1beta2"}},
		"all versions, but for one": {[]fakecluster.Option{
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
		"resource.k8s.io/v1beta9=true":    "fakecluster has no such version; of those that are off by default it has",
		"resource.k8s.io/v1beta2=perhaps": "the value must be true or false",
		"api/legacy=true":                 `"api/legacy": fakecluster knows api/all, api/ga, api/beta and api/alpha`,
		"api/ga=false":                    `"api/ga=false": fakecluster cannot turn off the versions that a server serves by default`,
		"apps/v1=false":                   `"apps/v1=false": fakecluster cannot turn off the versions that a server serves by default`,
	} {
		if got := refused(t, fakecluster.WithRuntimeConfig(text)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}
