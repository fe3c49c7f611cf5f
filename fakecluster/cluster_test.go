package fakecluster_test

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/fakecluster"
)

var cronTabs = schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}

func cronTabDefinition() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "crontabs.stable.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "stable.example.com",
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "crontabs", Singular: "crontab", Kind: "CronTab", ShortNames: []string{"ct"},
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
							"cronSpec": {Type: "string"}, "image": {Type: "string"}, "replicas": {Type: "integer"},
						}},
					},
				}},
			}},
		},
	}
}

func TestProbe(t *testing.T) {
	for range 3 {
	t0 := time.Now()
	c := fakecluster.Start(t)
	ctx := t.Context()
	_, err := c.Discovery().ServerVersion()
	t.Log("start", time.Since(t0), err)
	t0 = time.Now()
	crd, err := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Create(ctx, cronTabDefinition(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", crd.Status)
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": map[string]any{"name": "x"},
		"spec": map[string]any{"cronSpec": "* * * * */5", "image": "img", "junk": 1},
	}}
	got, err := c.Dynamic().Resource(cronTabs).Namespace("default").Create(ctx, u, metav1.CreateOptions{})
	t.Log("crd+create", time.Since(t0))
	t.Log(got, err)
	crd, err = c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Get(ctx, crd.Name, metav1.GetOptions{})
	t.Logf("%+v %v", crd.Status, err)
	l, err := c.Dynamic().Resource(cronTabs).List(ctx, metav1.ListOptions{})
	t.Log(l, err)
	got.Object["spec"].(map[string]any)["image"] = "other"
	up, err := c.Dynamic().Resource(cronTabs).Namespace("default").Update(ctx, got, metav1.UpdateOptions{})
	t.Log(up, err)
	up, err = c.Dynamic().Resource(cronTabs).Namespace("default").Update(ctx, got, metav1.UpdateOptions{})
	t.Log(up, err)
	err = c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Delete(ctx, crd.Name, metav1.DeleteOptions{})
	t.Log(err)
	crd, err = c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Get(ctx, crd.Name, metav1.GetOptions{})
	t.Logf("%+v %v", crd.Status, err)
	l, err = c.Dynamic().Resource(cronTabs).List(ctx, metav1.ListOptions{})
	t.Log(l, err)
	}
}
