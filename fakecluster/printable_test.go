package fakecluster_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// What a client calls itself and what it asks for does not reach the terminal as escape sequences: not by the log
// of a failed test, and not by what public types print.
func TestEscapeSequencesAreNotPrinted(t *testing.T) {
	const escape = "\x1b[2J\x1b]0;title\a\u009b31m"
	log := &failing{TB: t, failed: true}
	c := fakecluster.Start(log, fakecluster.InProcess())
	cfg := c.ConfigFor("jane" + escape)
	cfg.UserAgent = "" // then the client is shown by the name of its user: a header cannot have control characters
	client, err := clientrest.HTTPClientFor(cfg)
	must(t, err)
	for _, path := range []string{
		"/api/v1/namespaces/default/configmaps/a" + escape, "/api/v1/namespaces/n" + escape + "/configmaps", "/api/v1/r" + escape, "/x" + escape,
		"/debug/flags/" + escape,
	} {
		u, err := url.Parse(c.URL())
		must(t, err)
		u.Path = path
		response, err := client.Do((&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}).WithContext(t.Context()))
		must(t, err)
		must(t, response.Body.Close())
		if response.StatusCode < 400 {
			t.Errorf("%q: %s", path, response.Status)
		}
	}
	_, err = kubernetes.NewForConfigOrDie(cfg).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err == nil {
		t.Error("a user without roles lists Pods")
	}
	printed := map[string]string{"stats": c.Stats().String()}
	var requests strings.Builder
	for _, r := range c.Requests() {
		requests.WriteString(r.String() + "\n")
	}
	printed["requests"], printed["log"] = requests.String(), log.end()
	for what, text := range printed {
		if !strings.Contains(text, `\u001b[2J`) {
			t.Errorf("%s does not show what was sent:\n%q", what, text)
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("%s has a control character at %d:\n%q", what, i, text)
		}
	}
}
