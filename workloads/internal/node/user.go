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

// imageUser is the user of an image.
type imageUser struct {
	files.Owner
	name string // in place of its number: a kubelet cannot see whether it is root
}

// imageUsers are the users of images that are known to have another one than root.
var imageUsers = map[string]imageUser{
	"curlimages/curl": {files.Owner{User: 100, Group: 101}, "curl_user"}, "quay.io/curl/curl": {files.Owner{User: 100, Group: 101}, "curl_user"},
	"prom/prometheus": {files.Owner{User: 65534, Group: 65534}, "nobody"}, "quay.io/prometheus/prometheus": {files.Owner{User: 65534, Group: 65534}, "nobody"},
	"grafana/grafana": {Owner: files.Owner{User: 472}}, "nginxinc/nginx-unprivileged": {Owner: files.Owner{User: 101, Group: 101}},
	"registry.k8s.io/e2e-test-images/nonroot": {Owner: files.Owner{User: 1234}},
}

// userOf returns the user of an image, which is root if it is not known.
func userOf(image string) imageUser {
	named, err := reference.ParseDockerRef(image)
	if err != nil {
		return imageUser{}
	}
	name := reference.FamiliarName(named)
	if tagged, ok := named.(reference.Tagged); ok && strings.HasPrefix(name, "gcr.io/distroless/") && strings.HasSuffix(tagged.Tag(), "nonroot") {
		return imageUser{Owner: files.Owner{User: 65532, Group: 65532}}
	}
	return imageUsers[name]
}

// runsAsRoot reports whether the user of an image is root.
func runsAsRoot(image string) bool {
	named, err := reference.ParseDockerRef(image)
	return err == nil && rootImages.Has(reference.FamiliarName(named))
}

// breaksNonRoot returns an error for a container that may not be root, and is, or may be as far as a kubelet can see.
func breaksNonRoot(pod *corev1.Pod, spec *corev1.Container) error {
	s := securitycontext.DetermineEffectiveSecurityContext(pod, spec)
	switch {
	case s == nil || !ptr.Deref(s.RunAsNonRoot, false):
		return nil
	case s.RunAsUser != nil && *s.RunAsUser == 0:
		return fmt.Errorf("container's runAsUser breaks non-root policy (pod: %q, container: %s)", format.Pod(pod), spec.Name)
	case s.RunAsUser == nil && runsAsRoot(spec.Image):
		return fmt.Errorf("container has runAsNonRoot and image will run as root (pod: %q, container: %s)", format.Pod(pod), spec.Name)
	case s.RunAsUser == nil && userOf(spec.Image).name != "":
		return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root (pod: %q, container: %s)",
			userOf(spec.Image).name, format.Pod(pod), spec.Name)
	}
	return nil
}
