package report

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// The page names the hashes of the style sheet and the script that it has, so that a browser runs these
// and nothing else.
func TestThePageAllowsOnlyWhatItHas(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, &Data{Title: `<script>alert(1)</script>`}, "./"); err != nil {
		t.Fatal(err)
	}
	for element, directive := range map[string]string{"style": "style-src", "script": "script-src"} {
		found := regexp.MustCompile("(?s)<"+element+">(.*?)</"+element+">").FindAllStringSubmatch(b.String(), -1)
		if len(found) != 1 {
			t.Fatalf("%d elements %s", len(found), element)
		}
		if want := fmt.Sprintf("%s &#39;%s&#39;", directive, strings.ReplaceAll(hashOf(found[0][1]), "+", "&#43;")); !strings.Contains(b.String(), want) {
			t.Errorf("the policy of the page does not contain %s", want)
		}
	}
}

func TestTheLivePageHasHeadersOfSecurity(t *testing.T) {
	l := &Live{Data: func() *Data { return &Data{} }, Closing: context.Background()}
	for _, path := range []string{"/", "/data.json", "/other"} {
		w := httptest.NewRecorder()
		l.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		for name, want := range map[string]string{
			"Content-Security-Policy":      policy + "; frame-ancestors 'none'",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Referrer-Policy":              "no-referrer",
			"X-Content-Type-Options":       "nosniff",
			"Cache-Control":                "no-store",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy allows what it does not name: %s", policy)
	}
}
