package fakecluster_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// Tokens, good ones and others, are neither in the audit trail nor in the log nor in answers.
func TestTokensAreNotShown(t *testing.T) {
	state := klog.CaptureState()
	defer state.Restore()
	log := &lockedBuffer{}
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log))))

	c := fakecluster.Start(t, fakecluster.WithAudit(auditv1.LevelRequestResponse))
	tokens := []string{c.RESTConfig().BearerToken, c.ConfigFor("jane").BearerToken, "a-token-that-is-wrong", "of.three.parts"}
	client, err := clientrest.HTTPClientFor(clientrest.AnonymousClientConfig(c.RESTConfig()))
	must(t, err)
	var answers strings.Builder
	ask := func(path, name, value string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", c.URL()+path, nil)
		must(t, err)
		req.Header.Set(name, value)
		res, err := client.Do(req)
		must(t, err)
		defer res.Body.Close()
		must(t, res.Header.Write(&answers))
		_, err = io.Copy(&answers, res.Body)
		must(t, err)
	}
	for _, token := range tokens {
		for _, path := range []string{"/api/v1/namespaces/default", "/api/v1/secrets", "/nowhere", "/apis/none.example.com/v1/things"} {
			ask(path, "Authorization", "Bearer "+token)
			ask(path, "Authorization", "Basic "+token)
			ask(path, "Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io."+base64.RawURLEncoding.EncodeToString([]byte(token))+", v4.channel.k8s.io")
		}
	}
	trail, err := json.Marshal(c.Audit())
	must(t, err)
	for where, text := range map[string]string{"the audit trail": string(trail), "the log": log.String(), "the answers": answers.String()} {
		for _, token := range tokens {
			if strings.Contains(text, token) || strings.Contains(text, base64.RawURLEncoding.EncodeToString([]byte(token))) {
				t.Errorf("%s has the token %s", where, token)
			}
		}
	}
	if len(trail) < 1000 {
		t.Errorf("the trail is %s", trail)
	}
}
