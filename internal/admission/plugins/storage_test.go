package plugins

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/admission"
	upstreaminit "k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/storage"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/storageclass/setdefault"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/storageobjectinuseprotection"
)

// Our own plugins do what upstream's do.
func TestStoragePluginsDoAsUpstreams(t *testing.T) {
	class := func(name string, age int, annotation string) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{
			Name: name, CreationTimestamp: metav1.Unix(1e9-int64(age), 0), Annotations: map[string]string{annotation: "true", "a": "b"},
		}}
	}
	const stable, beta = "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"
	no := class("no", 0, stable)
	no.Annotations[stable] = "false"
	sets := [][]*storagev1.StorageClass{
		nil,
		{class("other", 0, "x"), no},
		{class("usual", 0, stable), class("other", 0, "x")},
		{class("old", 0, beta), no},
		{class("a", 60, stable), class("new", 1, stable), class("z", 60, beta)},
		{class("b", 1, stable), class("a", 1, beta), class("c", 1, stable)},
	}
	name := "named"
	meta := func(finalizers ...string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "a", Namespace: "default", Finalizers: finalizers}
	}
	annotated := meta()
	annotated.Annotations = map[string]string{core.BetaStorageClassAnnotation: ""}
	objects := []struct {
		resource string
		object   runtime.Object
	}{
		{"persistentvolumeclaims", &core.PersistentVolumeClaim{ObjectMeta: meta()}},
		{"persistentvolumeclaims", &core.PersistentVolumeClaim{ObjectMeta: annotated}},
		{"persistentvolumeclaims", &core.PersistentVolumeClaim{ObjectMeta: meta("x"), Spec: core.PersistentVolumeClaimSpec{StorageClassName: &name}}},
		{"persistentvolumeclaims", &core.PersistentVolumeClaim{ObjectMeta: meta("kubernetes.io/pvc-protection", "x")}},
		{"persistentvolumes", &core.PersistentVolume{ObjectMeta: meta()}},
		{"persistentvolumes", &core.PersistentVolume{ObjectMeta: meta("x", "kubernetes.io/pv-protection")}},
		{"volumeattributesclasses.storage.k8s.io", &storage.VolumeAttributesClass{ObjectMeta: meta()}},
	}
	for _, plugin := range []struct {
		name     string
		own      func(*upstream.Plugins)
		upstream func(*upstream.Plugins)
	}{
		{setdefault.PluginName, find(setdefault.PluginName).register, setdefault.Register},
		{storageobjectinuseprotection.PluginName, find(storageobjectinuseprotection.PluginName).register, storageobjectinuseprotection.Register},
	} {
		for i, classes := range sets {
			for _, o := range objects {
				for _, operation := range []upstream.Operation{upstream.Create, upstream.Update} {
					for _, subresource := range []string{"", "status"} {
						admit := func(register func(*upstream.Plugins)) runtime.Object {
							obj := o.object.DeepCopyObject()
							resource := schema.ParseGroupResource(o.resource).WithVersion("")
							a := upstream.NewAttributesRecord(obj, nil, schema.GroupVersionKind{}, "default", "a", resource, subresource, operation, nil, false, nil)
							p := pluginWith(t, plugin.name, register, classes)
							if p.Handles(operation) {
								if err := p.(upstream.MutationInterface).Admit(t.Context(), a, nil); err != nil {
									t.Fatal(err)
								}
							}
							return obj
						}
						if diff := cmp.Diff(admit(plugin.upstream), admit(plugin.own)); diff != "" {
							t.Errorf("%s %s of %T %s with classes %d (-upstream +own):\n%s", plugin.name, operation, o.object, subresource, i, diff)
						}
					}
				}
			}
		}
	}
}

// pluginWith makes a plugin in a cluster that has the classes.
func pluginWith(t *testing.T, name string, register func(*upstream.Plugins), classes []*storagev1.StorageClass) upstream.Interface {
	t.Helper()
	registered := upstream.NewPlugins()
	register(registered)
	f := informers.NewSharedInformerFactory(nil, time.Hour)
	in := f.Storage().V1().StorageClasses().Informer()
	for _, c := range classes {
		if err := in.GetStore().Add(c); err != nil {
			t.Fatal(err)
		}
	}
	p, err := registered.InitPlugin(name, nil, informed{f})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// informed gives plugins informers. They are not started, so that they hold what is put into them,
// and upstream's plugins do not wait for them.
type informed struct {
	informers.SharedInformerFactory
}

// Initialize implements upstream.PluginInitializer.
func (f informed) Initialize(p upstream.Interface) {
	if wants, ok := p.(upstreaminit.WantsExternalKubeInformerFactory); ok {
		wants.SetExternalKubeInformerFactory(f)
	}
}
