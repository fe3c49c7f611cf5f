package fakecluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/fakecluster"
)

const legacyManifest = `apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata:
  name: crontabs.stable.example.com
spec:
  group: stable.example.com
  version: v1
  names: {plural: crontabs, kind: CronTab}
`

func legacyDefinition() *apiextensionsv1beta1.CustomResourceDefinition {
	return &apiextensionsv1beta1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: definition},
		Spec: apiextensionsv1beta1.CustomResourceDefinitionSpec{
			Group: "stable.example.com", Version: "v1",
			Names: apiextensionsv1beta1.CustomResourceDefinitionNames{Plural: "crontabs", Kind: "CronTab"},
		},
	}
}

func TestWithLegacyAPIsLoadsDefinitionsInV1beta1(t *testing.T) {
	folder(t, map[string]string{"crd.yaml": "---\n" + legacyManifest, "crd/a.yaml": manifestOf("ones", "One") + "---\n" + legacyManifest})
	const refusal = `CustomResourceDefinition "crontabs.stable.example.com" is in apiextensions.k8s.io/v1beta1, which only a cluster with legacy APIs serves; write it in apiextensions.k8s.io/v1`
	legacy := fakecluster.WithLegacyAPIs()
	for _, c := range []struct {
		rule    string
		option  fakecluster.Option
		refusal string
		want    []string
	}{
		{"of a file", fakecluster.WithCRDPaths("crd.yaml"), "crd.yaml: document 1: " + refusal, []string{definition}},
		{"beside some in v1", fakecluster.WithCRDPaths("crd"), "crd/a.yaml: document 2: " + refusal, []string{definition, "ones.stable.example.com"}},
		{"of Go types", fakecluster.WithObjects(legacyDefinition()), `object 0, CustomResourceDefinition "crontabs.stable.example.com": ` + refusal, []string{definition}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			equal(t, "without the option", refused(t, fakecluster.InProcess(), c.option), c.refusal)
			cluster := fakecluster.Start(t, fakecluster.InProcess(), legacy, c.option)
			equal(t, "definitions", definitions(t, cluster), c.want)
			u := cronTab("a")
			u.Object["anything"] = "kept"
			equal(t, "anything", create(t, inDefault(cluster), u).Object["anything"], any("kept"))
		})
	}
}

func TestAForkServesTheLegacyAPIsOfItsParent(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithLegacyAPIs(), fakecluster.WithObjects(legacyDefinition()))
	fork := c.Fork(t)
	crds := fork.APIExtensions().ApiextensionsV1beta1().CustomResourceDefinitions()
	crd, err := crds.Get(t.Context(), definition, metav1.GetOptions{})
	must(t, err)
	equal(t, "preserves unknown fields", crd.Spec.PreserveUnknownFields, ptr.To(true))
	crd.Spec.Names.ShortNames = []string{"ct"}
	_, err = crds.Update(t.Context(), crd, metav1.UpdateOptions{})
	must(t, err)
	equal(t, "short names there", getDefinition(t, fork, definition).Status.AcceptedNames.ShortNames, []string{"ct"})
	equal(t, "and here", len(getDefinition(t, c, definition).Status.AcceptedNames.ShortNames), 0)

	_, err = fakecluster.Start(t, fakecluster.InProcess()).APIExtensions().ApiextensionsV1beta1().CustomResourceDefinitions().
		List(t.Context(), metav1.ListOptions{})
	fails(t, "without the option", err, "the server could not find the requested resource")
}

func TestDefinitionsInV1beta1AreReadAndWrittenAsProtobuf(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithLegacyAPIs())
	config := c.RESTConfig()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	client, err := apiextensions.NewForConfig(config)
	must(t, err)
	crds := client.ApiextensionsV1beta1().CustomResourceDefinitions()

	sent := legacyDefinition()
	sent.Spec.Validation = &apiextensionsv1beta1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1beta1.JSONSchemaProps{
		Properties: map[string]apiextensionsv1beta1.JSONSchemaProps{"size": {Enum: []apiextensionsv1beta1.JSON{{Raw: []byte(`1`)}, {Raw: []byte(`"big"`)}}}},
	}}
	created, err := crds.Create(t.Context(), sent, metav1.CreateOptions{})
	must(t, err)
	equal(t, "stored versions", created.Status.StoredVersions, []string{"v1"})
	got, err := crds.Get(t.Context(), definition, metav1.GetOptions{})
	must(t, err)
	equal(t, "schema", got.Spec.Validation, sent.Spec.Validation)
	equal(t, "schema in v1", getDefinition(t, c, definition).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["size"].Enum,
		[]apiextensionsv1.JSON{{Raw: []byte(`1`)}, {Raw: []byte(`"big"`)}})
	l, err := crds.List(t.Context(), metav1.ListOptions{})
	must(t, err)
	equal(t, "list", l.Items, []apiextensionsv1beta1.CustomResourceDefinition{*got})
}

// hostAndPort is the conversion webhook of the Kubernetes documentation, for both versions of
// ConversionReview. It records the version and the number of objects of each review.
type hostAndPort struct{ reviews chan string }

func (h hostAndPort) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var review struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Request    map[string]any `json:"request,omitempty"`
		Response   map[string]any `json:"response,omitempty"`
	}
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	objects := review.Request["objects"].([]any)
	h.reviews <- fmt.Sprintf("%s %s of %d", req.URL.Path, review.APIVersion, len(objects))
	converted, result := []any{}, map[string]any{"status": "Success"}
	for _, o := range objects {
		u := unstructured.Unstructured{Object: o.(map[string]any)}
		if hostPort, ok := u.Object["hostPort"].(string); ok {
			host, port, ok := strings.Cut(hostPort, ":")
			if !ok {
				result = map[string]any{"status": "Failed", "message": "hostPort could not be parsed into a separate host and port"}
			}
			u.Object["host"], u.Object["port"] = host, port
			delete(u.Object, "hostPort")
		} else {
			u.Object["hostPort"] = u.Object["host"].(string) + ":" + u.Object["port"].(string)
			delete(u.Object, "host")
			delete(u.Object, "port")
		}
		u.SetAPIVersion(review.Request["desiredAPIVersion"].(string))
		converted = append(converted, u.Object)
	}
	review.Response = map[string]any{"uid": review.Request["uid"], "result": result, "convertedObjects": converted}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

func TestAConversionWebhookGetsReviewsInV1beta1ByDefault(t *testing.T) {
	webhook := hostAndPort{make(chan string, 10)}
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithLegacyAPIs(),
		fakecluster.WithCRDPaths("../scenarios/legacy/my-versioned-crontab-with-conversion.yaml"),
		fakecluster.WithService("default", "example-conversion-webhook-server", 443, webhook))
	crds := c.APIExtensions().ApiextensionsV1beta1().CustomResourceDefinitions()
	crd, err := crds.Get(t.Context(), "crontabs.example.com", metav1.GetOptions{})
	must(t, err)
	crd.Spec.Conversion.WebhookClientConfig.CABundle = c.CABundle()
	crd, err = crds.Update(t.Context(), crd, metav1.UpdateOptions{})
	must(t, err)

	group := cronTabs.GroupVersion()
	group.Group = "example.com"
	old, current := group, group
	old.Version, current.Version = "v1beta1", "v1"
	olds, news := c.Dynamic().Resource(old.WithResource("crontabs")).Namespace("default"), c.Dynamic().Resource(current.WithResource("crontabs")).Namespace("default")
	store := func(name, hostPort string) *unstructured.Unstructured {
		return create(t, olds, &unstructured.Unstructured{Object: object{
			"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": object{"name": name}, "hostPort": hostPort,
		}})
	}
	store("local-crontab", "localhost:1234")
	store("remote-crontab", "example.com:2345")
	for want, versions := range map[string][]string{
		"/crdconvert apiextensions.k8s.io/v1beta1 of 2": {"v1beta1"},
		"/crdconvert apiextensions.k8s.io/v1 of 2":      {"v1", "v1beta1"},
	} {
		crd.Spec.Conversion.ConversionReviewVersions = versions
		crd, err = crds.Update(t.Context(), crd, metav1.UpdateOptions{})
		must(t, err)
		var seen []any
		for _, u := range list(t, news).Items {
			seen = append(seen, u.GetName(), u.Object["host"], u.Object["port"], u.Object["hostPort"])
		}
		equal(t, "hosts and ports", seen, []any{"local-crontab", "localhost", "1234", nil, "remote-crontab", "example.com", "2345", nil})
		equal(t, "review", <-webhook.reviews, want)
	}
	equal(t, "further reviews", len(webhook.reviews), 0)

	none := store("no-crontab", "localhost")
	crd.Spec.Conversion.ConversionReviewVersions = []string{"v1beta1"}
	_, err = crds.Update(t.Context(), crd, metav1.UpdateOptions{})
	must(t, err)
	_, err = news.Get(t.Context(), "no-crontab", metav1.GetOptions{})
	fails(t, "an object that cannot be converted", err, corrupt(none)+
		"conversion webhook for example.com/v1beta1, Kind=CronTab failed: hostPort could not be parsed into a separate host and port")
	equal(t, "review", <-webhook.reviews, "/crdconvert apiextensions.k8s.io/v1beta1 of 1")
}
