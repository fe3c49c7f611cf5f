package report

import (
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// The policy of a page allows exactly the script and the style that stand in it. All answers have the headers
// that keep other sites out.
func TestThePolicyOfThePage(t *testing.T) {
	closing, end := context.WithCancel(t.Context())
	end()
	live := &Live{Data: func() *Data { return &Data{Title: "</script><script>alert(1)</script>"} }, Changed: func() <-chan struct{} { return nil }, Closing: closing}
	for _, path := range []string{"/", "/data.json", "/changes", "/other"} {
		w := httptest.NewRecorder()
		live.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		for name, want := range map[string]string{
			"Content-Security-Policy": policy + "; frame-ancestors 'none'", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			"X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if path != "/" {
			continue
		}
		text := w.Body.String()
		if !strings.Contains(html.UnescapeString(text), `<meta http-equiv="Content-Security-Policy" content="`+policy+`">`) {
			t.Errorf("the page does not have the policy %s", policy)
		}
		parts := regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(text, -1)
		if len(parts) != 2 {
			t.Fatalf("%d scripts and styles", len(parts))
		}
		for _, part := range parts {
			if want := part[1] + "-src " + source(part[2]); !strings.Contains(policy, want) {
				t.Errorf("the policy %s does not allow the %s: %s", policy, part[1], want)
			}
		}
	}
	for _, loose := range []string{"unsafe", "*", "http:", "https:", "data:"} {
		if strings.Contains(policy, loose) {
			t.Errorf("the policy has %s: %s", loose, policy)
		}
	}
}
