// Package exploration has what package explore gives to package remote.
package exploration

import (
	"context"
	"io"
	"testing"
)

// Exploration is the exploration of an operator, or of the upgrade from one version to another. Option and Cluster are those of package remote.
type Exploration[Option, Cluster any] struct {
	// Fields are those of the request to the host, besides the versions.
	Fields   map[string]any
	Versions []Version[Option, Cluster]
	// Stderr gets what is told before the test ends.
	Stderr io.Writer
	// Into gets what was found.
	Into any
}

// Version is a version of an operator.
type Version[Option, Cluster any] struct {
	Fields  map[string]any // of the request
	Options []Option
	// Prepare is called in each trial before the operator starts there, and returns the function that runs it. What fails the trial after that is told to fail.
	Prepare func(t *testing.T, fail func(text string), c Cluster) (run func(context.Context, Cluster) error, err error)
}
