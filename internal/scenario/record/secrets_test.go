package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// A recorded session has other values in the place of those of Secrets and tokens, the same wherever they come,
// and passes when it is played.
func TestASessionIsRecordedWithoutSecrets(t *testing.T) {
	var recorder Recorder
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithMiddleware(recorder.Wrap))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(recorder.Begin(c.RESTConfig()))
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	secrets, ctx := client.CoreV1().Secrets("default"), t.Context()
	annotations := map[string]string{
		"password":  "hunter2",
		lastApplied: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"word":"hunter2"}}`,
	}
	_, err := secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "x"}, Annotations: annotations},
		StringData: map[string]string{"word": "hunter2"}, Data: map[string][]byte{"empty": {}, "json": []byte(`{"password":"hunter2"}`)},
	}, metav1.CreateOptions{})
	must(err)
	_, err = secrets.Get(ctx, "a", metav1.GetOptions{})
	must(err)
	_, err = secrets.List(ctx, metav1.ListOptions{})
	must(err)
	for _, patch := range []struct {
		how  types.PatchType
		body string
	}{
		{types.MergePatchType, `{"data":{"more":"aHVudGVyMg=="}}`},
		{types.JSONPatchType, `[{"op":"add","path":"/data/number","value":12345678}]`},
		{types.StrategicMergePatchType, `{"data":{"more":"hunter2!"}}`},
		{types.MergePatchType, `{"kind":"hunter2"}`},
	} {
		if _, err := secrets.Patch(ctx, "a", patch.how, []byte(patch.body), metav1.PatchOptions{}); (err == nil) != (patch.how == types.MergePatchType && strings.Contains(patch.body, "more")) {
			t.Error(patch, err)
		}
	}
	_, err = client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "hunter2"}}, metav1.CreateOptions{})
	must(err)
	token, err := client.CoreV1().ServiceAccounts("default").CreateToken(ctx, "none", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err == nil {
		t.Error(token)
	}

	path := filepath.Join(t.TempDir(), "session.yaml")
	if _, failures, err := recorder.Write(ctx, path, InitialState{}); err != nil || failures != nil {
		t.Errorf("%v, %v", failures, err)
	}
	text, err := os.ReadFile(path)
	must(err)
	const want = `- create:
    apiVersion: v1
    kind: Secret
    metadata:
      name: a
      annotations:
        kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"word":"secret-2"}}'
        password: secret-2
      labels: {app: x}
    data: {empty: "", json: eyJzZWNyZXQtMSI6IHt9fQ==}
    stringData: {word: secret-2}
  expect: {type: Opaque, data: {word: c2VjcmV0LTI=}}
- get: {apiVersion: v1, kind: Secret, namespace: default, name: a}
  expect:
    metadata: {annotations: {password: secret-2}, labels: {app: x}}
    type: Opaque
    data: {empty: "", json: eyJzZWNyZXQtMSI6IHt9fQ==, word: c2VjcmV0LTI=}
- list: {apiVersion: v1, kind: Secret, namespace: default}
  expect:
    items:
    - metadata:
        namespace: default
        name: a
        annotations: {password: secret-2}
        labels: {app: x}
      type: Opaque
      data: {empty: "", json: eyJzZWNyZXQtMSI6IHt9fQ==, word: c2VjcmV0LTI=}
- patch: {apiVersion: v1, kind: Secret, namespace: default, name: a}
  type: merge
  body: {data: {more: c2VjcmV0LTI=}}
  expect:
    metadata: {annotations: {password: secret-2}, labels: {app: x}}
    type: Opaque
    data: {empty: "", json: eyJzZWNyZXQtMSI6IHt9fQ==, word: c2VjcmV0LTI=}
- patch: {apiVersion: v1, kind: Secret, namespace: default, name: a}
  type: json
  body: [{op: add, path: /data/number, value: 1}]
  error: {code: 422, reason: Invalid}
- patch: {apiVersion: v1, kind: Secret, namespace: default, name: a}
  type: strategic
  body: {data: {more: (a secret)}}
  error: {code: 422, reason: Invalid}
- patch: {apiVersion: v1, kind: Secret, namespace: default, name: a}
  type: merge
  body: {kind: secret-2}
  error: {code: 422, reason: Invalid}
- create:
    apiVersion: authentication.k8s.io/v1
    kind: TokenReview
    metadata: {}
    spec: {token: secret-2}
    status: {user: {}}
- create:
    apiVersion: authentication.k8s.io/v1
    kind: TokenRequest
    metadata: {}
    spec: {audiences: null, boundObjectRef: null, expirationSeconds: null}
    status: {expirationTimestamp: null, token: ""}
  to: {path: /api/v1/namespaces/default/serviceaccounts/none/token}
  error: {code: 404, reason: NotFound, message: serviceaccounts "none" not found}
`
	if _, got, _ := strings.Cut(string(text), "steps:\n"); got != want {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}
