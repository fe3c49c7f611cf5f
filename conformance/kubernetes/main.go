// Command kubernetes runs Kubernetes' own integration tests against fakecluster, from the
// folder conformance:
//
//	go run ./kubernetes                             # all of the suite
//	go run ./kubernetes -folders dryrun,scale       # the tests in these folders
//	go run ./kubernetes -run 'TestApply$'           # the tests whose names match
//	go run ./kubernetes -update                     # and write the results to kubernetes.txt
//
// It prints a table of the results and exits with status 1 if they differ from
// kubernetes.txt. The first build takes minutes; what it made is kept.
package main

import (
	"github.com/fakecluster/fakecluster/conformance/integration"
	"github.com/fakecluster/fakecluster/conformance/kubernetes/suite"
)

func main() { integration.Main(suite.Suite, suite.List) }
