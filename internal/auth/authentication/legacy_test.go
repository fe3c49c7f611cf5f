package authentication_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/fakecluster/fakecluster/internal/testing/storetest"
)

func TestTokensOfSecrets(t *testing.T) {
	u := newAccepted(t)
	generator, err := u.issuer.LegacyGenerator()
	if err != nil {
		t.Fatal(err)
	}
	public, private := serviceaccount.LegacyClaims(
		corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "robot", UID: "7"}},
		corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "robot-token"}})
	token, err := generator.GenerateToken(context.Background(), public, private)
	if err != nil {
		t.Fatal(err)
	}
	const key = "/registry/secrets/default/robot-token"
	secret := func(token string, labels map[string]string) {
		storetest.Put(t, u.store, key, corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "robot-token", UID: "9", Labels: labels},
			Type:       corev1.SecretTypeServiceAccountToken, Data: map[string][]byte{"token": []byte(token)},
		})
	}
	expect := func(rule string, want bool, patches ...string) {
		t.Helper()
		u.patches = nil
		by, ok, err := u.Authenticate(request(token))
		if ok != want || ok && by.GetName() != "system:serviceaccount:default:robot" {
			t.Errorf("%s: %v %t %v, want %t", rule, by, ok, err, want)
		}
		if got := strings.Join(u.patches, "; "); got != strings.Join(patches, "; ") {
			t.Errorf("%s: patches %s, want %s", rule, got, patches)
		}
	}
	expect("without its Secret a token is good for nothing", false)
	secret(token, nil)
	used := `default/robot-token {"apiVersion":"v1","kind":"Secret","metadata":{"labels":{"kubernetes.io/legacy-token-last-used":"2030-01-01"},"name":"robot-token","namespace":"default","uid":"9"}}`
	expect("with it the token is its service account's, and its use is noted", true, used)
	secret(token, map[string]string{serviceaccount.LastUsedLabelKey: "2030-01-01"})
	expect("once a day", true)
	secret(token, map[string]string{serviceaccount.LastUsedLabelKey: "2029-12-31"})
	expect("and again on the next", true, used)
	secret(token, map[string]string{serviceaccount.LastUsedLabelKey: "2030-01-01", serviceaccount.InvalidSinceLabelKey: "2030-01-01"})
	expect("a Secret that is marked as invalid", false)
	secret("other", nil)
	expect("a Secret with another token", false)
	secret(token, nil)
	storetest.Put(t, u.store, robotKey, nil)
	expect("without its service account", false)
}
