package provisioner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/utils/ptr"
)

const (
	// Name is the provisioner in StorageClasses.
	Name = "fakecluster.io/volume"
	// LocalPath is the provisioner of kind, whose StorageClasses are served as well.
	LocalPath = "rancher.io/local-path"
	// DefaultClass is the name of the default StorageClass, which is that of kind.
	DefaultClass = "standard"
	// FailParameter is a parameter of a StorageClass: every volume fails with its value as the message.
	FailParameter = "fail"

	// tryAgain is the delay before a retry of a claim.
	tryAgain = 15 * time.Second

	// folder is the folder of volumes on the nodes of kind.
	folder = "/var/local-path-provisioner/"

	// The annotations of the volume binder and the scheduler.
	provisionerOfClaim   = "volume.kubernetes.io/storage-provisioner"
	nodeOfClaim          = "volume.kubernetes.io/selected-node"
	provisionerOfVolume  = "pv.kubernetes.io/provisioned-by"
	isDefaultClass       = "storageclass.kubernetes.io/is-default-class"
	reasonProvisioning   = "Provisioning"
	reasonSucceeded      = "ProvisioningSucceeded"
	reasonFailed         = "ProvisioningFailed"
	reasonVolumeNotFreed = "VolumeFailedDelete"
)

// Config configures Start.
type Config struct {
	// Client may write StorageClasses, PersistentVolumes and Events.
	Client kubernetes.Interface
	// Informers are shared with other programs of the cluster. The caller starts them after Start has returned.
	Informers informers.SharedInformerFactory
	// Others are further provisioners whose StorageClasses are served; "*" means all.
	Others []string
}

// Provisioner provisions volumes.
type Provisioner struct {
	client  kubernetes.Interface
	others  []string
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	classes storagelisters.StorageClassLister
	wait    sync.WaitGroup

	mu     sync.Mutex
	work   chan struct{} // has room for one: there is work
	queue  []key
	queued map[key]bool
	again  map[key]*time.Timer
}

// key is a claim, or a volume, which has no namespace.
type key struct{ namespace, name string }

// Start creates the default StorageClass, unless one with its name or another default exists, and provisions volumes
// until ctx is done.
func Start(ctx context.Context, config Config) (*Provisioner, error) {
	p := &Provisioner{
		client:  config.Client,
		others:  config.Others,
		claims:  config.Informers.Core().V1().PersistentVolumeClaims().Lister(),
		volumes: config.Informers.Core().V1().PersistentVolumes().Lister(),
		classes: config.Informers.Storage().V1().StorageClasses().Lister(),
		work:    make(chan struct{}, 1), queued: map[key]bool{}, again: map[key]*time.Timer{},
	}
	if err := p.createDefaultClass(ctx); err != nil {
		return nil, err
	}
	for what, informer := range map[string]cache.SharedIndexInformer{
		"claims":  config.Informers.Core().V1().PersistentVolumeClaims().Informer(),
		"volumes": config.Informers.Core().V1().PersistentVolumes().Informer(),
	} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    p.changed,
			UpdateFunc: func(_, object any) { p.changed(object) },
		})
		if err != nil {
			return nil, fmt.Errorf("follow %s: %w", what, err)
		}
	}
	// A claim may be created before its StorageClass.
	_, err := config.Informers.Storage().V1().StorageClasses().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { p.allClaims() },
	})
	if err != nil {
		return nil, fmt.Errorf("follow StorageClasses: %w", err)
	}
	p.wait.Go(func() { p.run(ctx) })
	return p, nil
}

// Wait returns when the context of Start is done and all goroutines of the provisioner have ended.
func (p *Provisioner) Wait() { p.wait.Wait() }

// createDefaultClass creates a StorageClass like that of kind.
func (p *Provisioner) createDefaultClass(ctx context.Context) error {
	classes, err := p.client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("the default StorageClass: %w", err)
	}
	for i := range classes.Items {
		if c := &classes.Items[i]; c.Name == DefaultClass || c.Annotations[isDefaultClass] == "true" {
			return nil
		}
	}
	_, err = p.client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: DefaultClass, Annotations: map[string]string{isDefaultClass: "true"}},
		Provisioner:       Name,
		ReclaimPolicy:     ptr.To(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("the default StorageClass: %w", err)
	}
	return nil
}

func (p *Provisioner) changed(object any) {
	if o, ok := object.(metav1.Object); ok {
		p.enqueue(key{o.GetNamespace(), o.GetName()})
	}
}

func (p *Provisioner) allClaims() {
	claims, _ := p.claims.List(labels.Everything()) // a lister returns no error
	for _, claim := range claims {
		p.changed(claim)
	}
}

func (p *Provisioner) enqueue(k key) {
	p.mu.Lock()
	if !p.queued[k] {
		p.queued[k] = true
		p.queue = append(p.queue, k)
	}
	p.mu.Unlock()
	select {
	case p.work <- struct{}{}:
	default:
	}
}

func (p *Provisioner) next() (key, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return key{}, false
	}
	k := p.queue[0]
	p.queue = p.queue[1:]
	delete(p.queued, k)
	if t := p.again[k]; t != nil {
		t.Stop()
		delete(p.again, k)
	}
	return k, true
}

func (p *Provisioner) run(ctx context.Context) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, t := range p.again {
			t.Stop()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.work:
		}
		for k, ok := p.next(); ok && ctx.Err() == nil; k, ok = p.next() {
			if p.sync(ctx, k) != nil && ctx.Err() == nil {
				p.mu.Lock()
				p.again[k] = time.AfterFunc(tryAgain, func() { p.enqueue(k) })
				p.mu.Unlock()
			}
		}
	}
}

// sync provisions a volume for a claim, or deletes a volume. After an error it is called again later.
func (p *Provisioner) sync(ctx context.Context, k key) error {
	if k.namespace == "" {
		return p.reclaim(ctx, k.name)
	}
	claim, err := p.claims.PersistentVolumeClaims(k.namespace).Get(k.name)
	if err != nil || !p.serves(claim.Annotations[provisionerOfClaim]) || claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil {
		return nil
	}
	class, err := p.classes.Get(ptr.Deref(claim.Spec.StorageClassName, ""))
	if err != nil {
		return nil // its arrival enqueues the claim
	}
	node := claim.Annotations[nodeOfClaim]
	if ptr.Deref(class.VolumeBindingMode, storagev1.VolumeBindingImmediate) == storagev1.VolumeBindingWaitForFirstConsumer && node == "" {
		return nil
	}
	name := "pvc-" + string(claim.UID)
	if _, err := p.volumes.Get(name); err == nil {
		return nil
	}
	p.event(ctx, claim, corev1.EventTypeNormal, reasonProvisioning, fmt.Sprintf("External provisioner is provisioning volume for claim %q", k.namespace+"/"+k.name))
	err = p.provision(ctx, claim, class, name, node)
	if err != nil {
		p.event(ctx, claim, corev1.EventTypeWarning, reasonFailed, fmt.Sprintf("failed to provision volume with StorageClass %q: %v", class.Name, err))
		return err
	}
	p.event(ctx, claim, corev1.EventTypeNormal, reasonSucceeded, "Successfully provisioned volume "+name)
	return nil
}

// serves reports whether this provisioner serves the StorageClasses of a provisioner.
func (p *Provisioner) serves(provisioner string) bool {
	return provisioner == Name || provisioner == LocalPath || provisioner != "" && (slices.Contains(p.others, provisioner) || slices.Contains(p.others, "*"))
}

// Made reports whether this package has provisioned a volume.
func Made(volume *corev1.PersistentVolume) bool {
	return volume.Annotations[provisionerOfVolume] != "" && volume.Spec.HostPath != nil && strings.HasPrefix(volume.Spec.HostPath.Path, folder)
}

// MadeForOthers reports whether this package has provisioned a volume in place of another driver.
func MadeForOthers(volume *corev1.PersistentVolume) bool {
	name := volume.Annotations[provisionerOfVolume]
	return Made(volume) && name != Name && name != LocalPath
}

// provision creates the volume.
func (p *Provisioner) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, name, node string) error {
	if message, ok := class.Parameters[FailParameter]; ok {
		return errors.New(message)
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionerOfVolume: class.Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    claim.Spec.VolumeMode,
			StorageClassName:              class.Name,
			MountOptions:                  class.MountOptions,
			PersistentVolumeReclaimPolicy: ptr.Deref(class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete),
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name,
				UID: claim.UID, ResourceVersion: claim.ResourceVersion,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: folder + name, Type: ptr.To(corev1.HostPathDirectoryOrCreate)},
			},
		},
	}
	if node != "" {
		// As in kind, a volume is on a node.
		volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}}}
	}
	_, err := p.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// reclaim deletes a released volume of this package.
func (p *Provisioner) reclaim(ctx context.Context, name string) error {
	volume, err := p.volumes.Get(name)
	if err != nil || volume.Status.Phase != corev1.VolumeReleased || volume.DeletionTimestamp != nil ||
		!Made(volume) || volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return nil
	}
	err = p.client.CoreV1().PersistentVolumes().Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(volume.UID))})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		p.event(ctx, volume, corev1.EventTypeWarning, reasonVolumeNotFreed, err.Error())
	}
	return err
}

// event records an Event about a claim or a volume. It ignores errors.
func (p *Provisioner) event(ctx context.Context, object metav1.Object, eventType, reason, message string) {
	kind, namespace := "PersistentVolumeClaim", object.GetNamespace()
	if namespace == "" {
		kind, namespace = "PersistentVolume", metav1.NamespaceDefault
	}
	now := metav1.Now()
	// Two events of one sync have the same time in a bubble, so their names differ by the reason.
	_, _ = p.client.CoreV1().Events(namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: util.GenerateEventName(object.GetName(), now.UnixNano()+int64(len(reason)))},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		},
		Type: eventType, Reason: reason, Message: message, Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: corev1.EventSource{Component: Name}, ReportingController: Name,
	}, metav1.CreateOptions{})
}
