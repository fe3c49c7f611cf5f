package rest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/warning"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
)

func TestWarningsComeOnceAndAreCutWhenTheyAreTooMany(t *testing.T) {
	var texts []string
	p := &warner{texts: &texts}
	c := start(t, withPlugin(p))
	warn := func(name string) []string {
		return c.do("POST", "/api/v1/namespaces/default/configmaps", jsonBody,
			fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q}}`, name)).header["Warning"]
	}
	texts = []string{"a", "b", "a", ""}
	expect(t, "duplicates", warn("a"), []string{`299 - "a"`, `299 - "b"`})

	long := func(letter string) string { return strings.Repeat(letter, 2000) }
	texts = []string{long("a"), long("b")}
	expect(t, "within the limit", warn("b"), []string{`299 - "` + long("a") + `"`, `299 - "` + long("b") + `"`})

	texts = []string{long("ä"), long("b"), long("c"), "d"}
	cut := func(letter string) string { return `299 - "` + strings.Repeat(letter, 256) + `"` }
	expect(t, "beyond the limit", warn("c"), []string{cut("ä"), cut("b"), cut("c"), `299 - "d"`})

	texts = nil
	for i := range 30 {
		texts = append(texts, fmt.Sprint(i, long("x")))
	}
	expect(t, "number of warnings", len(warn("d")), 16)
}

type warner struct{ texts *[]string }

func (w *warner) Mutate(ctx context.Context, _ *restadmission.Write) error {
	for _, text := range *w.texts {
		warning.AddWarning(ctx, "", text)
	}
	return nil
}

func (w *warner) Validate(context.Context, *restadmission.Write) error { return nil }
