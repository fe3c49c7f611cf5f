package world

import (
	"context"

	"github.com/google/cadvisor/lib/model"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
)

// machine is what a kubelet reads about its machine: the size of a node of package workloads.
type machine struct{ cadvisor.Interface }

// Start implements cadvisor.Interface.
func (machine) Start() error { return nil }

// MachineInfo implements cadvisor.Interface.
func (machine) MachineInfo(klog.Logger) (*model.MachineInfo, error) {
	return &model.MachineInfo{NumCores: 8, MemoryCapacity: 32 << 30, InstanceID: nodeName}, nil
}

// VersionInfo implements cadvisor.Interface.
func (machine) VersionInfo() (*model.VersionInfo, error) { return &model.VersionInfo{}, nil }

// ContainerInfoV2 implements cadvisor.Interface.
func (machine) ContainerInfoV2(string, model.RequestOptions) (map[string]model.ContainerInfo, error) {
	return nil, nil
}

// GetRequestedContainersInfo implements cadvisor.Interface.
func (machine) GetRequestedContainersInfo(string, model.RequestOptions) (map[string]*model.ContainerInfo, error) {
	return nil, nil
}

// ImagesFsInfo implements cadvisor.Interface.
func (machine) ImagesFsInfo(context.Context) (model.FsInfo, error) { return model.FsInfo{}, nil }

// RootFsInfo implements cadvisor.Interface.
func (machine) RootFsInfo() (model.FsInfo, error) { return model.FsInfo{}, nil }

// ContainerFsInfo implements cadvisor.Interface.
func (machine) ContainerFsInfo(context.Context) (model.FsInfo, error) { return model.FsInfo{}, nil }

// GetDirFsInfo implements cadvisor.Interface.
func (machine) GetDirFsInfo(string) (model.FsInfo, error) { return model.FsInfo{}, nil }
