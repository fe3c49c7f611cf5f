// Command upstream runs upstream's integration suite for CustomResourceDefinitions
// against fakecluster, from the folder conformance:
//
//	go run ./upstream                          # all of it
//	go run ./upstream -run TestTable           # the tests whose names match
//	go run ./upstream -update                  # and write the results to upstream.txt
//
// It prints a table of the results and exits with status 1 if they differ from
// upstream.txt.
package main

import (
	"github.com/fakecluster/fakecluster/conformance/integration"
	"github.com/fakecluster/fakecluster/conformance/upstream/suite"
)

func main() { integration.Main(suite.Suite, suite.List) }
