package fakecluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestAdmissionFunctionsMutateAndRefuseEveryKind(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := defined(t, append(way, fakecluster.WithAdmission(
			func(_ context.Context, r *fakecluster.AdmissionRequest) error {
				switch r.Name {
				case "taken":
					r.Object = nil
					return nil
				case "emptied":
					r.Object.Object = nil
					return nil
				}
				if r.Operation == admissionv1.Create && r.Kind.Kind != "CustomResourceDefinition" {
					r.Object.SetLabels(map[string]string{"by": r.UserInfo.Username})
				}
				return nil
			},
			func(_ context.Context, r *fakecluster.AdmissionRequest) error {
				switch r.Name {
				case "forbidden":
					return errors.New("not with me")
				case "teapot":
					return apierrors.NewBadRequest("a teapot")
				case "unreasonable":
					return fmt.Errorf("wrapped: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 418, Message: "without a reason"}})
				}
				if r.Operation == admissionv1.Delete {
					return fmt.Errorf("it stays as it is: %v", r.OldObject.GetLabels())
				}
				return nil
			}))...)
		mine := create(t, inDefault(c), cronTab("mine"))
		equal(t, "labels", mine.GetLabels(), map[string]string{"by": "kubernetes-admin"})
		equal(t, "owners of the label", managersOf(mine), []string{"fakecluster.test"})

		_, err := inDefault(c).Create(t.Context(), cronTab("forbidden"), metav1.CreateOptions{})
		fails(t, "create", err, `crontabs.stable.example.com "forbidden" is forbidden: not with me`)
		_, err = inDefault(c).Create(t.Context(), cronTab("teapot"), metav1.CreateOptions{})
		fails(t, "create", err, "a teapot")
		equal(t, "it is so", apierrors.IsBadRequest(err), true)
		_, err = inDefault(c).Create(t.Context(), cronTab("unreasonable"), metav1.CreateOptions{})
		fails(t, "create", err, "without a reason")
		_, err = inDefault(c).Create(t.Context(), cronTab("taken"), metav1.CreateOptions{})
		fails(t, "create", err, "Internal error occurred: a function of WithAdmission has set the object to nil; return an error to deny the write")
		_, err = inDefault(c).Create(t.Context(), cronTab("emptied"), metav1.CreateOptions{})
		fails(t, "create", err, "Internal error occurred: a function of WithAdmission has set the object to nil; return an error to deny the write")
		err = inDefault(c).Delete(t.Context(), "mine", metav1.DeleteOptions{})
		fails(t, "delete", err, `crontabs.stable.example.com "mine" is forbidden: it stays as it is: map[by:kubernetes-admin]`)

		configMaps := c.Dynamic().Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
		cm := &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "a"}, "data": object{"k": "v"}}}
		made, err := configMaps.Create(t.Context(), cm, metav1.CreateOptions{})
		must(t, err)
		equal(t, "labels", made.GetLabels(), map[string]string{"by": "kubernetes-admin"})
		equal(t, "data", made.Object["data"], any(object{"k": "v"}))

		fork := c.Fork(t)
		err = inDefault(fork).Delete(t.Context(), "mine", metav1.DeleteOptions{})
		fails(t, "delete in a fork", err, `crontabs.stable.example.com "mine" is forbidden: it stays as it is: map[by:kubernetes-admin]`)
	})
}

func TestObjectsOfAdmissionFunctionsAreJSON(t *testing.T) {
	var put any
	c := defined(t, fakecluster.InProcess(), fakecluster.WithAdmission(
		func(_ context.Context, r *fakecluster.AdmissionRequest) error {
			switch r.Kind.Kind {
			case "CronTab":
				r.Object.Object["spec"] = put
			case "ConfigMap":
				r.Object.Object["data"] = put
			}
			return nil
		}, nil))
	put = map[string]any{"image": "i", "replicas": 3}
	equal(t, "an int", create(t, inDefault(c), cronTab("a")).Object["spec"], any(object{"image": "i", "replicas": int64(3)}))
	put = struct {
		Image string `json:"image"`
	}{"i"}
	equal(t, "a struct", create(t, inDefault(c), cronTab("b")).Object["spec"], any(object{"image": "i"}))
	put = map[string]string{"image": "i"}
	equal(t, "a map of strings", create(t, inDefault(c), cronTab("c")).Object["spec"], any(object{"image": "i"}))
	configMaps := c.Dynamic().Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
	cm := &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "a"}}}
	made, err := configMaps.Create(t.Context(), cm, metav1.CreateOptions{})
	must(t, err)
	equal(t, "a map of strings in a ConfigMap", made.Object["data"], any(object{"image": "i"}))
	put = make(chan int)
	_, err = inDefault(c).Create(t.Context(), cronTab("d"), metav1.CreateOptions{})
	fails(t, "a channel", err, "Internal error occurred: a function of WithAdmission has made an object that cannot be encoded as JSON: json: unsupported type: chan int")
}

func managersOf(u *unstructured.Unstructured) (names []string) {
	for _, f := range u.GetManagedFields() {
		names = append(names, f.Manager)
	}
	return names
}

func TestAdmissionFunctionsWorkInABubbleInOrderAndWarn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called []string
		ask := func(who string) fakecluster.AdmissionFunc {
			return func(ctx context.Context, r *fakecluster.AdmissionRequest) error {
				called = append(called, fmt.Sprintf("%s %s %s", who, r.Operation, r.Name))
				warning.AddWarning(ctx, "", who)
				return nil
			}
		}
		c := defined(t, fakecluster.InProcess(), fakecluster.WithAdmission(ask("m1"), ask("v1")),
			fakecluster.WithAdmission(nil, ask("v2")), fakecluster.WithAdmission(ask("m3"), nil))
		called = nil
		create(t, inDefault(c), cronTab("a"))
		equal(t, "called", called, []string{"m1 CREATE a", "m3 CREATE a", "v1 CREATE a", "v2 CREATE a"})
	})
}

// Several writers set the status of one object while a function puts something into it that
// pruning alters. The spec, which they leave as it is, is one that they share.
func TestFieldsFromAnAdmissionFunctionArePrunedWithoutChangingSharedObjects(t *testing.T) {
	const definition = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "pods.example.com"},
		"spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "pods", "kind": "Pod"}, "versions": [{
			"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
				"spec": {"type": "object", "properties": {"template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}},
				"status": {"type": "object", "properties": {
					"writer": {"type": "string"},
					"template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}}}}}}]}}`
	crd := &unstructured.Unstructured{}
	must(t, crd.UnmarshalJSON([]byte(definition)))
	embed := func(_ context.Context, r *fakecluster.AdmissionRequest) error {
		if r.SubResource != "status" {
			return nil
		}
		return unstructured.SetNestedMap(r.Object.Object, object{
			"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "b", "creationTimestamp": nil},
		}, "status", "template")
	}
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAdmission(embed, nil), fakecluster.WithObjects(crd))
	pods := c.Dynamic().Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "pods"}).Namespace("default")
	_, err := pods.Create(t.Context(), &unstructured.Unstructured{Object: object{
		"apiVersion": "example.com/v1", "kind": "Pod", "metadata": object{"name": "a"},
		"spec": object{"template": object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "b"}}},
	}}, metav1.CreateOptions{})
	must(t, err)
	var writers sync.WaitGroup
	for writer := range 8 {
		writers.Go(func() {
			for n := range 50 {
				_, err := pods.Patch(t.Context(), "a", types.MergePatchType, fmt.Appendf(nil, `{"status":{"writer":"%d.%d"}}`, writer, n), metav1.PatchOptions{}, "status")
				must(t, err)
			}
		})
	}
	writers.Wait()
	got, err := pods.Get(t.Context(), "a", metav1.GetOptions{})
	must(t, err)
	template, _, _ := unstructured.NestedMap(got.Object, "status", "template")
	if diff := cmp.Diff(object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "b"}}, template); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The cluster's own writes are repeated after a conflict. An admission that answers as if it
// were so always would make them try for ever.
func TestAdmissionThatAnswersAlreadyExistsIsNotRetriedForEver(t *testing.T) {
	refused := map[string]int{}
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithControllers(fakecluster.NamespaceController, fakecluster.ServiceAccountController),
		fakecluster.WithAdmission(nil, func(_ context.Context, r *fakecluster.AdmissionRequest) error {
			if r.Operation == admissionv1.Create && (r.Resource.Resource == "apiservices" || r.Resource.Resource == "serviceaccounts") {
				refused[r.Resource.Resource]++
				return apierrors.NewAlreadyExists(schema.GroupResource{Group: r.Resource.Group, Resource: r.Resource.Resource}, r.Name)
			}
			return nil
		}))
	clear(refused)
	define(t, c, cronTabDefinition())
	_, err := clientOf(t, c.RESTConfig()).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{})
	must(t, err)
	equal(t, "refused", refused, map[string]int{"apiservices": 1, "serviceaccounts": 1})
}
