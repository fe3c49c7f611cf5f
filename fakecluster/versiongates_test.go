package fakecluster_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// isNewest reports whether the process behaves as the newest version.
func isNewest() bool { return os.Getenv(versionVariable) == "" && os.Getenv(emulatedVariable) == "" }

// unparsed is a CronTab that parts does not convert.
func unparsed(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": map[string]any{"name": name}, "hostPort": "localhost",
	}}
}

// Servers since 1.37 call an object corrupt that cannot be converted, and others say only why.
func TestUnreadableObjectsInThisVersion(t *testing.T) {
	const reason = "conversion webhook for example.com/v1beta1, Kind=CronTab failed: hostPort could not be parsed into a separate host and port"
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook),
		fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(parts)))
	a := create(t, cronTabsIn(c, "v1beta1"), unparsed("a"))
	create(t, cronTabsIn(c, "v1beta1"), unparsed("b"))
	unreadable, list, patched := corrupt(a)+reason, `^failed to read one or more crontabs.example.com from the storage: StorageError: corrupt object, Code: 7, .*\(and 1 more\)$`,
		"object not decodable revision="+a.GetResourceVersion()+": "+reason
	why := metav1.StatusReasonInternalError
	if !isNewest() {
		unreadable, list, patched, why = reason, "^"+regexp.QuoteMeta(reason)+"$", reason, metav1.StatusReasonUnknown
	}
	inV1 := cronTabsIn(c, "v1")
	_, err := inV1.Get(t.Context(), "a", metav1.GetOptions{})
	fails(t, "get", err, unreadable)
	equal(t, "the reason", apierrors.ReasonForError(err), why)
	_, err = inV1.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"host":"b"}`), metav1.PatchOptions{})
	fails(t, "patch", err, patched)
	_, err = inV1.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"host":"b"}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	fails(t, "a dry run", err, unreadable)
	_, err = inV1.List(t.Context(), metav1.ListOptions{})
	if err == nil || !regexp.MustCompile(list).MatchString(err.Error()) {
		t.Errorf("list: %v, want %s", err, list)
	}
	ignore := true
	for _, options := range []metav1.DeleteOptions{{}, {IgnoreStoreReadErrorWithClusterBreakingPotential: &ignore}} {
		err := inV1.Delete(t.Context(), "a", options)
		if isNewest() && options.IgnoreStoreReadErrorWithClusterBreakingPotential != nil {
			must(t, err)
			continue
		}
		fails(t, "delete", err, unreadable)
	}
}

// Servers before 1.37 call webhooks for objects that are not stored, too.
func TestWebhooksForReviewsInThisVersion(t *testing.T) {
	var called []string
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithService("default", "hook", 443, reviews(func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		called = append(called, r.Resource.Resource)
		return &admissionv1.AdmissionResponse{Allowed: r.Resource.Resource != "subjectaccessreviews", Result: &metav1.Status{Message: "no"}}
	})))
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	path, none := "/", admissionregistrationv1.SideEffectClassNone
	_, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "reviews"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "reviews.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: c.CABundle(), Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "hook", Path: &path}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"authorization.k8s.io"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
			}},
		}},
	}, metav1.CreateOptions{})
	must(t, err)
	can := &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"}
	_, err = client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: can}}, metav1.CreateOptions{})
	must(t, err)
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "jane", ResourceAttributes: can}}
	_, err = client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if isNewest() {
		must(t, err)
		equal(t, "the calls", len(called), 0)
		return
	}
	fails(t, "a review that the webhook denies", err, `admission webhook "reviews.example.com" denied the request: no`)
	equal(t, "the calls", strings.Join(called, " "), "selfsubjectaccessreviews subjectaccessreviews")
	review.Spec.User = ""
	_, err = client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	equal(t, "an invalid review is rejected before validating webhooks", apierrors.IsInvalid(err) && len(called) == 2, true)
}

// Custom resources are described in the types of the version.
func TestOpenAPIOfCustomResourcesInThisVersion(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook))
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	version := os.Getenv(versionVariable)
	paths := []string{"/openapi/v3/apis/example.com/v1"}
	if version == "1.35" { // once, because it describes all kinds
		paths = append(paths, "/openapi/v2")
	}
	for _, path := range paths {
		text, err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Do(t.Context()).Raw()
		must(t, err)
		equal(t, path+" names a type twice", strings.Contains(string(text), "v1.ListMeta_v2"), false)
		equal(t, path+" has shards", strings.Contains(string(text), "ShardInfo"), version == "" || version == "1.36")
		for _, ref := range regexp.MustCompile(`"\$ref":"#/(?:definitions|components/schemas)/([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(string(text), `"`+ref[1]+`":{`) {
				t.Fatalf("%s refers to %s, which is missing", path, ref[1])
			}
		}
	}
}
