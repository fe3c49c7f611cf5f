// Package helm runs the real helm against `fakecluster serve`, by a scripted session that
// holds, for each command, what it prints to a real server.
package helm

import (
	"github.com/fakecluster/fakecluster/conformance/kubectl"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// List is the list that results are compared with, seen from the folder conformance.
var List = verdict.List{
	Path: "helm.txt",
	Comment: `The commands of helm/session.txt, and whether they print what that says.
Written by "go run . -only helm -update".`,
}

// Whole is the session of helm.
func Whole() kubectl.Session {
	return kubectl.Session{Path: "helm/session.txt", Folder: "helm/testdata", Further: []string{"helm.sh/helm/v4/cmd/helm", "./e2e/cluster"}}
}
