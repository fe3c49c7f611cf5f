package plugins

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	upstream "k8s.io/apiserver/pkg/admission"
	upstreaminit "k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/helper"
	"k8s.io/kubernetes/pkg/apis/storage"
)

// Two short plugins are not upstream's: theirs import k8s.io/kubernetes/pkg/volume/util for a
// function and three constants, and with it 32 packages about mounts and SELinux.

const (
	defaultStorageClass          = "DefaultStorageClass"
	storageObjectInUseProtection = "StorageObjectInUseProtection"
)

// registers returns a function that registers a plugin without configuration.
func registers(name string, plugin func() upstream.Interface) func(*upstream.Plugins) {
	return func(registered *upstream.Plugins) {
		registered.Register(name, func(io.Reader) (upstream.Interface, error) { return plugin(), nil })
	}
}

// classDefaulter is the plugin DefaultStorageClass: a new PersistentVolumeClaim without a StorageClass gets the default
// one.
type classDefaulter struct {
	*upstream.Handler
	classes storagelisters.StorageClassLister
}

var _ upstreaminit.WantsExternalKubeInformerFactory = &classDefaulter{}

func newClassDefaulter() upstream.Interface {
	return &classDefaulter{Handler: upstream.NewHandler(upstream.Create)}
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (d *classDefaulter) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	d.classes = f.Storage().V1().StorageClasses().Lister()
}

// ValidateInitialization implements upstream.InitializationValidator.
func (d *classDefaulter) ValidateInitialization() error {
	if d.classes == nil {
		return errors.New("missing lister")
	}
	return nil
}

// Admit implements upstream.MutationInterface.
func (d *classDefaulter) Admit(_ context.Context, a upstream.Attributes, _ upstream.ObjectInterfaces) error {
	claim, ok := a.GetObject().(*core.PersistentVolumeClaim)
	if !ok || a.GetSubresource() != "" || helper.PersistentVolumeClaimHasClass(claim) {
		return nil
	}
	class, err := newestDefaultClass(d.classes)
	if err != nil {
		return upstream.NewForbidden(a, err)
	}
	if class != nil {
		claim.Spec.StorageClassName = &class.Name
	}
	return nil
}

// newestDefaultClass returns the newest StorageClass that is annotated as the default, the first by name of several with
// the same age; nil: none.
func newestDefaultClass(lister storagelisters.StorageClassLister) (*storagev1.StorageClass, error) {
	classes, err := lister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	classes = slices.DeleteFunc(slices.Clone(classes), func(c *storagev1.StorageClass) bool {
		return c.Annotations["storageclass.kubernetes.io/is-default-class"] != "true" &&
			c.Annotations["storageclass.beta.kubernetes.io/is-default-class"] != "true"
	})
	if len(classes) == 0 {
		return nil, nil
	}
	return slices.MinFunc(classes, func(a, b *storagev1.StorageClass) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	}), nil
}

// inUseProtector is the plugin StorageObjectInUseProtection: volumes, claims and
// VolumeAttributesClasses get a finalizer when they are created. kube-controller-manager removes it
// from an object that is being deleted once nothing uses the object.
type inUseProtector struct{ *upstream.Handler }

func newInUseProtector() upstream.Interface {
	return inUseProtector{upstream.NewHandler(upstream.Create)}
}

// Admit implements upstream.MutationInterface.
func (inUseProtector) Admit(_ context.Context, a upstream.Attributes, _ upstream.ObjectInterfaces) error {
	if a.GetSubresource() != "" {
		return nil
	}
	finalizer := ""
	switch a.GetObject().(type) {
	case *core.PersistentVolume:
		finalizer = "kubernetes.io/pv-protection"
	case *core.PersistentVolumeClaim:
		finalizer = "kubernetes.io/pvc-protection"
	case *storage.VolumeAttributesClass:
		finalizer = "kubernetes.io/vac-protection"
	default:
		return nil
	}
	obj := a.GetObject().(metav1.Object)
	if finalizers := obj.GetFinalizers(); !slices.Contains(finalizers, finalizer) {
		obj.SetFinalizers(append(finalizers, finalizer))
	}
	return nil
}
