package website_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/explore"
)

// TestUpgrade brings another image of the web server, and nothing changes for websites that exist. Of a real operator, the old
// version is a copy of its last release.
func TestUpgrade(t *testing.T) {
	to := subject("nginx:1.30")
	to.Trials = 16
	// The webhook has written the image into the spec, so websites keep the old one until their users change it. Without this
	// line, that is a finding.
	to.Ignore = []string{"websites.example.com /spec/image", "deployments.apps /spec/template/spec/containers/*/image"}
	explore.Upgrade(t, subject("nginx:1.29"), to)
}
