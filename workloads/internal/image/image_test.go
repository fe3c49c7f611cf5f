package image

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/internal/testing/compare"
	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

const digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// TestNamesOfImages proves what a container runtime reports of an image, and that ways of writing one image lead to the same.
func TestNamesOfImages(t *testing.T) {
	for _, test := range []struct {
		image, name, ref string
		size             int
	}{
		{"web", "docker.io/library/web:latest", "docker.io/library/web@sha256:3cbf79c8aa942d23e70a16d1ca151da8939d827f688ac2354ba71c75581edc31", 18310244},
		{"web:latest", "docker.io/library/web:latest", "docker.io/library/web@sha256:3cbf79c8aa942d23e70a16d1ca151da8939d827f688ac2354ba71c75581edc31", 18310244},
		{"docker.io/library/web", "docker.io/library/web:latest", "docker.io/library/web@sha256:3cbf79c8aa942d23e70a16d1ca151da8939d827f688ac2354ba71c75581edc31", 18310244},
		{"example.com/a/b:v1", "example.com/a/b:v1", "example.com/a/b@sha256:0bced7a41488cd85a50d974c682caa628dfbb7d8d2f0a1fecfae3967fb219ac5", 100541339},
		{"example.com/a/b:v1@" + digest, "example.com/a/b@" + digest, "example.com/a/b@" + digest, 118276932},
		{"No Image", "No Image", "No Image", 29202344},
	} {
		compare.Equal(t, test.image, []any{Name(test.image), Ref(test.image), Size(test.image)}, []any{test.name, test.ref, test.size})
	}
}

// TestUsersOfImages proves which images run as root, and who runs others.
func TestUsersOfImages(t *testing.T) {
	for _, test := range []struct {
		image string
		user  User
		root  bool
	}{
		{"busybox:1.37", User{}, true},
		{"docker.io/library/busybox", User{}, true},
		{"example.com/busybox", User{}, false},
		{"curlimages/curl:8", User{files.Owner{User: 100, Group: 101}, "curl_user"}, false},
		{"gcr.io/distroless/static:nonroot", User{Owner: files.Owner{User: 65532, Group: 65532}}, false},
		{"gcr.io/distroless/static:latest", User{}, false},
	} {
		compare.Equal(t, test.image, []any{UserOf(test.image), RunsAsRoot(test.image)}, []any{test.user, test.root})
	}
}

// TestCommandsOfImages proves when the entrypoint of an image runs.
func TestCommandsOfImages(t *testing.T) {
	for _, test := range []struct {
		rule string
		spec corev1.Container
		want []string
	}{
		{"a command wins", corev1.Container{Image: "curlimages/curl", Command: []string{"true"}}, []string{"true"}},
		{"the entrypoint without arguments", corev1.Container{Image: "curlimages/curl"}, []string{"curl"}},
		{"the entrypoint with a flag", corev1.Container{Image: "curlimages/curl", Args: []string{"-s", "http://web"}}, []string{"curl"}},
		{"arguments that are a command", corev1.Container{Image: "curlimages/curl", Args: []string{"sleep", "1"}}, nil},
		{"an image whose entrypoint is not known", corev1.Container{Image: "web"}, nil},
	} {
		compare.Equal(t, test.rule, Command(&test.spec), test.want)
	}
}

// TestANodeReportsItsLargestImages proves which images a node reports, with which names, and when it reports them again.
func TestANodeReportsItsLargestImages(t *testing.T) {
	s := NewStore([]corev1.ContainerImage{{Names: []string{"a:1", "b:1", "c:1", "d:1", "e:1", "f:1"}, SizeBytes: 1 << 40}})
	compare.Equal(t, "at first", s.Status(), []corev1.ContainerImage{{Names: []string{"a:1", "b:1", "c:1", "d:1", "e:1"}, SizeBytes: 1 << 40}})
	compare.Equal(t, "images on the node", []bool{s.Has("docker.io/library/f:1"), s.Has("f"), s.Has("web")}, []bool{true, false, false})
	s.Add("web")
	compare.Equal(t, "images on the node", []bool{s.Has("web:latest"), s.Has(Ref("web")), len(s.Status()) == 1}, []bool{true, true, true})
	compare.Equal(t, "changes", []bool{s.Report(), s.Report()}, []bool{true, false})
	compare.Equal(t, "the new image", s.Status()[1], corev1.ContainerImage{Names: []string{Ref("web"), Name("web")}, SizeBytes: int64(Size("web"))})
	s.Add("docker.io/library/web")
	compare.Equal(t, "a change by a name of the same image", s.Report(), false)
	for i := range 60 {
		s.TakeOver([]corev1.ContainerImage{{Names: []string{fmt.Sprintf("large:%d", i)}, SizeBytes: 1 << 41}})
	}
	s.Report()
	small := func(i corev1.ContainerImage) bool { return i.SizeBytes < 1<<41 }
	compare.Equal(t, "the number of images, and whether a small one is among them", []any{len(s.Status()), slices.ContainsFunc(s.Status(), small)}, []any{50, false})
}
