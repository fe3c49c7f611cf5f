package scenarios

import (
	"net/http"
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

// What a failure says of a Secret is not what it has.
func TestFailuresHideSecrets(t *testing.T) {
	const made = `- create: {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {word: hunter2hunter2}}
  as: made
`
	const secret = "{apiVersion: v1, kind: Secret, name: s}"
	for rule, c := range map[string]struct{ steps, want string }{
		"a refusal": {
			"- patch: " + secret + "\n  type: merge\n  body: {data: {word: {is: hunter2}}}\n",
			`f.yaml:5: step 2: patch secrets default/s: the server refused it: 422 Invalid:  "" is invalid: patch: Invalid value: (hidden: it may contain a secret)`,
		},
		"another error": {
			"- patch: " + secret + "\n  type: merge\n  body: {data: {word: {is: hunter2}}}\n  error: {message: no}\n",
			`f.yaml:5: step 2: patch secrets default/s: the error is not the expected one (-want +got):
      map[string]any{
    - 	"message": "(hidden: it may contain a secret)",
    + 	"message": s` + "`" + ` "" is invalid: patch: Invalid value: (hidden: it may contain a secret): json: cannot unmarshal object into Go struct field Secret.data of type []uint8` + "`" + `,
      }`,
		},
		"another value": {
			"- get: " + secret + "\n  expect: {data: {word: aHVudGVyMw==}, type: Opaque}\n",
			`f.yaml:5: step 2: get secrets default/s: the answer is not the expected one (-want +got):
      map[string]any{
    - 	"data": map[string]any{"word": "(another secret)"},
    + 	"data": map[string]any{"word": "(a secret)"},
      	"type": string("Opaque"),
      }`,
		},
		"an item of a list": {
			"- list: {apiVersion: v1, kind: Secret, namespace: default}\n  expect: {items: [{data: {word: x}}]}\n",
			`f.yaml:5: step 2: list secrets in default: the answer is not the expected one (-want +got):
      map[string]any{
    - 	"items": []any{map[string]any{"data": map[string]any{"word": "(another secret)"}}},
    + 	"items": []any{map[string]any{"data": map[string]any{"word": "(a secret)"}}},
      }`,
		},
		"a condition": {
			"- get: " + secret + "\n  that: [answer.data.word == 'x' && made.data.word == answer.data.word]\n",
			`f.yaml:5: step 2: get secrets default/s: f.yaml:6: answer.data.word == 'x' && made.data.word == answer.data.word is false, where answer.data.word is "(a secret)"`,
		},
		"a condition that fails": {
			"- get: " + secret + "\n  that: [int(answer.data.word) == 1]\n",
			`f.yaml:5: step 2: get secrets default/s: f.yaml:6: int(answer.data.word) == 1: type conversion error from 'string' to 'int'`,
		},
		"what is there": {
			"- absent: " + secret + "\n",
			`"data":{"word":"(a secret)"}`,
		},
		"a token": {
			"- create: {apiVersion: authentication.k8s.io/v1, kind: TokenReview, spec: {token: hunter2}}\n  expect: {spec: {token: x}}\n",
			`+ 	"spec": map[string]any{"token": "(a secret)"},`,
		},
	} {
		t.Run(rule, func(t *testing.T) {
			failure := oneScenario(t, made+c.steps).Play(t.Context(), InProcess).Failure
			if failure == nil {
				t.Fatal("it passes")
			}
			got := failure.String()
			if !strings.Contains(got, c.want) {
				t.Errorf("(-want +got):\n%s", cmp.Diff(c.want, got))
			}
			for _, secret := range []string{"hunter", "aHVudGVy"} {
				if rest := strings.ReplaceAll(got, "{is: hunter2}", ""); strings.Contains(rest, secret) {
					t.Errorf("it has %s: %s", secret, got)
				}
			}
		})
	}
}

// What changes while a step waits is told without the values of Secrets.
func TestChangesHideSecrets(t *testing.T) {
	object := func(word string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "s"}, "data": map[string]any{"word": word}}
	}
	m := &meanwhile{last: map[string]any{"s": object("aHVudGVyMg==")}, about: call{method: http.MethodGet, path: "/api/v1/namespaces/default/secrets"}.about()}
	m.add(watchEvent{kind: "MODIFIED", object: object("aHVudGVyMw==")})
	if got := m.lines[len(m.lines)-1]; got != "    data.word: (what was there) -> (a secret)" {
		t.Error(got)
	}
}

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
	if _, failures, err := recorder.Write(ctx, path, Beginning{}); err != nil || failures != nil {
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
        kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"word":"secret-1"}}'
        password: secret-1
      labels: {app: x}
    data: {empty: "", json: eyJzZWNyZXQtMiI6IHt9fQ==}
    stringData: {word: secret-1}
  expect: {type: Opaque, data: {word: c2VjcmV0LTE=}}
- get: {apiVersion: v1, kind: Secret, namespace: default, name: a}
  expect:
    metadata: {annotations: {password: secret-1}, labels: {app: x}}
    type: Opaque
    data: {empty: "", json: eyJzZWNyZXQtMiI6IHt9fQ==, word: c2VjcmV0LTE=}
- list: {apiVersion: v1, kind: Secret, namespace: default}
  expect:
    items:
    - metadata:
        namespace: default
        name: a
        annotations: {password: secret-1}
        labels: {app: x}
      type: Opaque
      data: {empty: "", json: eyJzZWNyZXQtMiI6IHt9fQ==, word: c2VjcmV0LTE=}
- patch: {apiVersion: v1, kind: Secret, namespace: default, name: a}
  type: merge
  body: {data: {more: c2VjcmV0LTE=}}
  expect:
    metadata: {annotations: {password: secret-1}, labels: {app: x}}
    type: Opaque
    data: {empty: "", json: eyJzZWNyZXQtMiI6IHt9fQ==, word: c2VjcmV0LTE=}
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
  body: {kind: secret-1}
  error: {code: 422, reason: Invalid}
- create:
    apiVersion: authentication.k8s.io/v1
    kind: TokenReview
    metadata: {}
    spec: {token: secret-1}
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
