package node

import (
	"fmt"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/kubelet/util/format"
	"k8s.io/kubernetes/pkg/securitycontext"
	"k8s.io/utils/ptr"
)

// rootImages are images that have no other user than root. The user of another image is not known: it may be any.
var rootImages = sets.New(
	"alpine", "amazonlinux", "bash", "busybox", "caddy", "centos", "debian", "docker", "eclipse-temurin", "fedora", "golang", "httpd", "mariadb", "mongo", "mysql",
	"nginx", "node", "openjdk", "perl", "php", "postgres", "python", "rabbitmq", "redis", "registry", "ruby", "rust", "traefik", "ubuntu", "wordpress",
	"registry.k8s.io/e2e-test-images/agnhost", "registry.k8s.io/e2e-test-images/busybox", "registry.k8s.io/e2e-test-images/httpd",
	"registry.k8s.io/e2e-test-images/nginx", "registry.k8s.io/nginx",
)

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
