package image

import (
	"hash/fnv"
	"strings"

	"github.com/distribution/reference"

	"github.com/fakecluster/fakecluster/workloads/internal/seeded"
)

// Name returns the image as container runtimes report it, with registry and tag.
func Name(image string) string {
	named, err := reference.ParseDockerRef(image)
	if err != nil {
		return image
	}
	return named.String()
}

// Ref returns the image with a digest.
func Ref(image string) string {
	named, err := reference.ParseDockerRef(image)
	if err != nil {
		return image
	}
	if digested, ok := named.(reference.Digested); ok {
		return reference.TrimNamed(named).String() + "@" + digested.Digest().String()
	}
	return reference.TrimNamed(named).String() + "@sha256:" + seeded.Digest(named.String())
}

// Size returns a size from 10 to 138 MB, computed from the name.
func Size(image string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(familiar(image)))
	return 10_000_000 + int(h.Sum32()>>5)
}

// familiar returns an image in docker's short form: without the default registry and tag.
func familiar(image string) string {
	named, err := reference.ParseDockerRef(image)
	if err != nil {
		return image
	}
	return strings.TrimSuffix(reference.FamiliarString(named), ":latest")
}
