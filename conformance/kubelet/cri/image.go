package cri

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Images that fail: the pull of one, and the start of the containers of the other.
const (
	Missing     = "registry.test/missing"
	Unstartable = "registry.test/unstartable"
)

// Root is an image that runs as root, as everybody knows, and [program.Image] otherwise.
const Root = "busybox"

// AbsentHandler is the handler of a RuntimeClass that the runtime does not have.
const AbsentHandler = "absent-handler"

// StartMessage is the message of StartError.
const StartMessage = "failed to create containerd task: no such file or directory"

// PullError is the error of the pull of Missing, and StartError that of the start of Unstartable.
var (
	PullError  = status.Error(codes.NotFound, "failed to pull and unpack image: not found")
	StartError = status.Error(codes.Unknown, StartMessage)
)

// Images is the image service of a runtime.
type Images struct {
	internalapi.ImageManagerService
	Runtime *Runtime
}

func imageID(name string) string {
	return "sha256:" + strings.NewReplacer("/", "-", ":", "-").Replace(name)
}

func image(name string) *runtimeapi.Image {
	i := &runtimeapi.Image{Id: imageID(name), RepoTags: []string{name}, Size: 10_000_000, Spec: &runtimeapi.ImageSpec{Image: name}}
	if !strings.HasPrefix(name, Root+":") {
		i.Uid = &runtimeapi.Int64Value{Value: 65532}
	}
	return i
}

// ListImages implements ImageManagerService.
func (i Images) ListImages(context.Context, *runtimeapi.ImageFilter) ([]*runtimeapi.Image, error) {
	i.Runtime.mu.Lock()
	defer i.Runtime.mu.Unlock()
	var list []*runtimeapi.Image
	for name := range i.Runtime.images {
		list = append(list, image(name))
	}
	return list, nil
}

// ImageStatus implements ImageManagerService.
func (i Images) ImageStatus(_ context.Context, spec *runtimeapi.ImageSpec, _ bool) (*runtimeapi.ImageStatusResponse, error) {
	i.Runtime.mu.Lock()
	defer i.Runtime.mu.Unlock()
	for name := range i.Runtime.images {
		if spec.Image == name || spec.Image == imageID(name) {
			return &runtimeapi.ImageStatusResponse{Image: image(name)}, nil
		}
	}
	return &runtimeapi.ImageStatusResponse{}, nil
}

// PullImage implements ImageManagerService.
func (i Images) PullImage(_ context.Context, spec *runtimeapi.ImageSpec, _ *runtimeapi.AuthConfig, _ *runtimeapi.PodSandboxConfig) (string, error) {
	time.Sleep(PullTime)
	if strings.HasPrefix(spec.Image, Missing) {
		return "", PullError
	}
	i.Runtime.mu.Lock()
	defer i.Runtime.mu.Unlock()
	i.Runtime.images[spec.Image] = true
	return imageID(spec.Image), nil
}

// RemoveImage implements ImageManagerService.
func (i Images) RemoveImage(context.Context, *runtimeapi.ImageSpec) error { return nil }

// ImageFsInfo implements ImageManagerService.
func (i Images) ImageFsInfo(context.Context) (*runtimeapi.ImageFsInfoResponse, error) {
	return &runtimeapi.ImageFsInfoResponse{}, nil
}
