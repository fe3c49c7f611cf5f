package node

import (
	"slices"
	"strings"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

// entrypoints are programs that images run if the container has no command, and that the built-in shell has.
var entrypoints = map[string]string{"curlimages/curl": "curl", "quay.io/curl/curl": "curl", "appropriate/curl": "curl"}

// withEntrypoint returns the command of a container: its own, or that of an image whose entrypoint is known. As with the entrypoint of curl's images, arguments
// that are a command replace it.
func withEntrypoint(spec *corev1.Container) []string {
	if len(spec.Command) > 0 {
		return spec.Command
	}
	named, err := reference.ParseDockerRef(spec.Image)
	if err != nil {
		return nil
	}
	program, ok := entrypoints[reference.FamiliarName(named)]
	if !ok || len(spec.Args) > 0 && !strings.HasPrefix(spec.Args[0], "-") && shell.Knows(slices.Clip(spec.Args), nil) {
		return nil
	}
	return []string{program}
}
