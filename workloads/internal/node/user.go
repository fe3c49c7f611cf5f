package node

import (
	"fmt"
	"strings"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/kubelet/util/format"
	"k8s.io/kubernetes/pkg/securitycontext"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// rootImages are images that have no other user than root. The user of another image is not known: it may be any.
var rootImages = sets.New(
	"alpine", "amazonlinux", "bash", "busybox", "caddy", "centos", "debian", "docker", "eclipse-temurin", "fedora", "golang", "httpd", "mariadb", "mongo", "mysql",
	"nginx", "node", "openjdk", "perl", "php", "postgres", "python", "rabbitmq", "redis", "registry", "ruby", "rust", "traefik", "ubuntu", "wordpress",
	"registry.k8s.io/e2e-test-images/agnhost", "registry.k8s.io/e2e-test-images/busybox", "registry.k8s.io/e2e-test-images/httpd",
	"registry.k8s.io/e2e-test-images/nginx", "registry.k8s.io/nginx",
)

// imageUsers are the users of images that are known to have another one than root, with their groups.
var imageUsers = map[string]files.Owner{
	"curlimages/curl": {User: 100, Group: 101}, "grafana/grafana": {User: 472}, "nginxinc/nginx-unprivileged": {User: 101, Group: 101},
	"prom/prometheus": {User: 65534, Group: 65534}, "quay.io/prometheus/prometheus": {User: 65534, Group: 65534},
	"registry.k8s.io/e2e-test-images/nonroot": {User: 1234},
}

// userOf returns the user of an image, which is root if it is not known.
func userOf(image string) files.Owner {
	named, err := reference.ParseDockerRef(image)
	if err != nil {
		return files.Owner{}
	}
	name := reference.FamiliarName(named)
	if tagged, ok := named.(reference.Tagged); ok && strings.HasPrefix(name, "gcr.io/distroless/") && strings.HasSuffix(tagged.Tag(), "nonroot") {
		return files.Owner{User: 65532, Group: 65532}
	}
	return imageUsers[name]
}

// runsAsRoot reports whether the user of an image is root.
func runsAsRoot(image string) bool {
	named, err := reference.ParseDockerRef(image)
	return err == nil && rootImages.Has(reference.FamiliarName(named))
}

// breaksNonRoot returns an error for a container that is root, and may not be.
func breaksNonRoot(pod *corev1.Pod, spec *corev1.Container) error {
	s := securitycontext.DetermineEffectiveSecurityContext(pod, spec)
	switch {
	case s == nil || !ptr.Deref(s.RunAsNonRoot, false):
		return nil
	case s.RunAsUser != nil && *s.RunAsUser == 0:
		return fmt.Errorf("container's runAsUser breaks non-root policy (pod: %q, container: %s)", format.Pod(pod), spec.Name)
	case s.RunAsUser == nil && runsAsRoot(spec.Image):
		return fmt.Errorf("container has runAsNonRoot and image will run as root (pod: %q, container: %s)", format.Pod(pod), spec.Name)
	}
	return nil
}
