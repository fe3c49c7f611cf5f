package image

import (
	"slices"
	"strings"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

// rootImages are images whose user is known to be root.
var rootImages = sets.New(
	"alpine", "amazonlinux", "bash", "busybox", "caddy", "centos", "debian", "docker", "eclipse-temurin", "fedora", "golang", "httpd", "mariadb", "mongo", "mysql",
	"nginx", "node", "openjdk", "perl", "php", "postgres", "python", "rabbitmq", "redis", "registry", "ruby", "rust", "traefik", "ubuntu", "wordpress",
	"registry.k8s.io/e2e-test-images/agnhost", "registry.k8s.io/e2e-test-images/busybox", "registry.k8s.io/e2e-test-images/httpd",
	"registry.k8s.io/e2e-test-images/nginx", "registry.k8s.io/nginx",
)

// User is the user of an image.
type User struct {
	files.Owner
	Name string // for an image with a user name, of which a kubelet cannot tell whether it is root
}

// imageUsers are the users of images that are known not to be root.
var imageUsers = map[string]User{
	"curlimages/curl": {files.Owner{User: 100, Group: 101}, "curl_user"}, "quay.io/curl/curl": {files.Owner{User: 100, Group: 101}, "curl_user"},
	"prom/prometheus": {files.Owner{User: 65534, Group: 65534}, "nobody"}, "quay.io/prometheus/prometheus": {files.Owner{User: 65534, Group: 65534}, "nobody"},
	"grafana/grafana": {Owner: files.Owner{User: 472}}, "nginxinc/nginx-unprivileged": {Owner: files.Owner{User: 101, Group: 101}},
	"registry.k8s.io/e2e-test-images/nonroot": {Owner: files.Owner{User: 1234}},
}

// entrypoints are the entrypoints of images that are programs of the built-in shell.
var entrypoints = map[string]string{"curlimages/curl": "curl", "quay.io/curl/curl": "curl", "appropriate/curl": "curl"}

// nameOfImage returns the name of an image in docker's short form, and its tag. Both are empty if the name is invalid.
func nameOfImage(image string) (name, tag string) {
	named, err := reference.ParseDockerRef(image)
	if err != nil {
		return "", ""
	}
	if tagged, ok := named.(reference.Tagged); ok {
		tag = tagged.Tag()
	}
	return reference.FamiliarName(named), tag
}

// UserOf returns the user of an image, or root if it is unknown.
func UserOf(image string) User {
	name, tag := nameOfImage(image)
	if strings.HasPrefix(name, "gcr.io/distroless/") && strings.HasSuffix(tag, "nonroot") {
		return User{Owner: files.Owner{User: 65532, Group: 65532}}
	}
	return imageUsers[name]
}

// RunsAsRoot reports whether the user of an image is known to be root.
func RunsAsRoot(image string) bool {
	name, _ := nameOfImage(image)
	return rootImages.Has(name)
}

// Command returns the command of a container: its own, or the known entrypoint of its image. As with the entrypoint of
// curl's images, arguments that begin with a program replace it.
func Command(spec *corev1.Container) []string {
	if len(spec.Command) > 0 {
		return spec.Command
	}
	name, _ := nameOfImage(spec.Image)
	program, ok := entrypoints[name]
	if !ok || len(spec.Args) > 0 && !strings.HasPrefix(spec.Args[0], "-") && shell.Knows(slices.Clip(spec.Args), nil) {
		return nil
	}
	return []string{program}
}
