package player

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A failure never shows the value of a Secret.
func TestFailuresHideSecrets(t *testing.T) {
	const made = `- create: {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {word: hunter2hunter2}}
  as: made
`
	const secret = "{apiVersion: v1, kind: Secret, name: s}"
	for rule, c := range map[string]struct{ steps, want string }{
		"a refusal": {
			"- patch: " + secret + "\n  type: merge\n  body: {data: {word: {is: hunter2}}}\n",
			`f.yaml:5: step 2: patch secrets default/s: the server rejected the request: 422 Invalid:  "" is invalid: patch: Invalid value: (hidden: it may contain a secret)`,
		},
		"another error": {
			"- patch: " + secret + "\n  type: merge\n  body: {data: {word: {is: hunter2}}}\n  error: {message: no}\n",
			`f.yaml:5: step 2: patch secrets default/s: unexpected error (-want +got):
    - message: '(hidden: it may contain a secret)'
    + message: ' "" is invalid: patch: Invalid value: (hidden: it may contain a secret): json: cannot unmarshal object into Go struct field Secret.data of type []uint8'`,
		},
		"another value": {
			"- get: " + secret + "\n  expect: {data: {word: aHVudGVyMw==}, type: Opaque}\n",
			`f.yaml:5: step 2: get secrets default/s: unexpected answer (-want +got):
      data:
    -   word: (another secret)
    +   word: (a secret)
      type: Opaque`,
		},
		"an item of a list": {
			"- list: {apiVersion: v1, kind: Secret, namespace: default}\n  expect: {items: [{data: {word: x}}]}\n",
			`f.yaml:5: step 2: list secrets in default: unexpected answer (-want +got):
      items:
      - data:
    -     word: (another secret)
    +     word: (a secret)`,
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
			`    +   token: (a secret)`,
		},
	} {
		t.Run(rule, func(t *testing.T) {
			failure := Play(t.Context(), oneScenario(t, made+c.steps), InProcess).Failure
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

// The changes while a step waits are shown without the values of Secrets.
func TestChangesHideSecrets(t *testing.T) {
	object := func(word string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "s"}, "data": map[string]any{"word": word}}
	}
	m := &changeLog{last: map[string]any{"s": object("aHVudGVyMg==")}, redaction: Call{Method: http.MethodGet, Path: "/api/v1/namespaces/default/secrets"}.redaction()}
	m.add(watchEvent{kind: "MODIFIED", object: object("aHVudGVyMw==")})
	if got := m.lines[len(m.lines)-1]; got != "    data.word: (what was there) -> (a secret)" {
		t.Error(got)
	}
}
