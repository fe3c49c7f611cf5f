// Package suite is upstream's integration suite for CustomResourceDefinitions, the tests
// in k8s.io/apiextensions-apiserver/test/integration.
//
// The tests start their servers through one file of upstream's, fixtures/server.go. Our
// fixture takes its place, and nothing else is changed.
package suite

import (
	_ "embed"
	"time"

	"github.com/fakecluster/fakecluster/conformance/integration"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

const module = "k8s.io/apiextensions-apiserver"

//go:embed fixtures/server.go
var fixture []byte

// Fixture takes the place of the file of upstream's that starts servers.
var Fixture = integration.File(module, "test/integration/fixtures/server.go", fixture)

// Suite is the suite.
var Suite = integration.Suite{
	Name:    "upstream",
	Modules: []string{module},
	Changes: []integration.Change{Fixture},
	Root:    "test/integration",
	Folders: []string{".", "conversion", "storage"},
	// The longest of those that pass takes less than half of it on two busy cores.
	// Upstream waits for 30 s for most things: a multiple of that would let chance decide
	// between a failure and a timeout.
	Timeout: 75 * time.Second,
}

// List is the list that results are compared with, seen from the folder conformance.
var List = verdict.List{
	Path: "upstream.txt",
	Comment: `Upstream's integration suite for CustomResourceDefinitions against fakecluster:
every test, and of those that fail every subtest that does not pass.
Written by "go run ./upstream -update"; how to read it: README.md.`,
}
