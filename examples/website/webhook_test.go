package website_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// TestWebsitesAreValidated: the schema, its CEL rule and the webhooks validate what users write. Each
// case has a fork, where it writes what it likes.
func TestWebsitesAreValidated(t *testing.T) {
	base := fakecluster.Start(t, append(installed(), fakecluster.WithWebhookPaths("config/webhook"))...)

	for _, test := range []struct {
		name   string
		create func(*website.WebsiteSpec)
		update func(*website.WebsiteSpec) // of a Website that was accepted
		want   string                     // the error, or the image that the Website has
	}{
		{
			name: "a Website without an image gets that of the operator",
			want: image,
		},
		{
			name:   "an image that is given stays",
			create: func(s *website.WebsiteSpec) { s.Image = "registry.example.com/web:2.0" },
			want:   "registry.example.com/web:2.0",
		},
		{
			name:   "an image that is taken away is filled in again",
			update: func(s *website.WebsiteSpec) { s.Image = "" },
			want:   image,
		},
		{
			name:   "a page has to be a template",
			create: func(s *website.WebsiteSpec) { s.Page = "{{.Host" },
			want:   `admission webhook "validate.websites.example.com" denied the request: Website.example.com "home" is invalid: spec.page: Invalid value: "{{.Host": template: page:1: unclosed action`,
		},
		{
			name:   "a page has to stay a template",
			update: func(s *website.WebsiteSpec) { s.Page = "{{end}}" },
			want:   `admission webhook "validate.websites.example.com" denied the request: Website.example.com "home" is invalid: spec.page: Invalid value: "{{end}}": template: page:1: unexpected {{end}}`,
		},
		{
			name:   "the schema wants at least one pod",
			create: func(s *website.WebsiteSpec) { s.Replicas = -1 },
			want:   `Website.example.com "home" is invalid: spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 1`,
		},
		{
			name:   "a rule of the schema keeps the host",
			update: func(s *website.WebsiteSpec) { s.Host = "www.example.org" },
			want:   `Website.example.com "home" is invalid: spec.host: Invalid value: "www.example.org": a website cannot move to another host`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := base.Fork(t)
			run(t, c, website.Operator{Image: image}.SetupWebhooks)

			cl, site := newClient(t, c), newSite()
			if test.create != nil {
				test.create(&site.Spec)
			}
			err := cl.Create(t.Context(), site)
			if test.update != nil {
				must(t, err)
				test.update(&site.Spec)
				err = cl.Update(t.Context(), site)
			}
			got := site.Spec.Image
			if err != nil {
				got = err.Error()
			}
			equal(t, "the answer", got, test.want)
		})
	}
}
