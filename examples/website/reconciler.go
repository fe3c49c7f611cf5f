package website

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	// Finalizer keeps a deleted Website until its host is released.
	Finalizer = "example.com/release-host"
	// fieldOwner owns the fields that the operator applies.
	fieldOwner = client.FieldOwner("website-operator")
	// renewal is how often the host is registered anew.
	renewal = time.Hour
)

// The rules say what the operator does and nothing else: a test holds them to it. There is no
// get, because the manager's client reads from caches. These are filled by watches, and by lists
// where a server cannot stream the present objects.
//
// +kubebuilder:rbac:groups=example.com,resources=websites,verbs=list;watch;update
// +kubebuilder:rbac:groups=example.com,resources=websites/status,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=configmaps;services,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconciler makes of each Website what its spec says.
type Reconciler struct {
	client.Client
	Events   events.EventRecorder
	Registry Registry
}

// Reconcile brings one Website up to date. It can be called at any time and any number of
// times: what is as it should be is not written again.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	site := &Website{}
	if err := r.Get(ctx, request.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !site.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.release(ctx, site)
	}
	if controllerutil.AddFinalizer(site, Finalizer) {
		// It is stored before anything is registered that would have to be released.
		if err := r.Update(ctx, site); err != nil {
			return ctrl.Result{}, fmt.Errorf("adding the finalizer: %w", err)
		}
	}

	before := site.DeepCopy()
	observed, err := r.applyChildren(ctx, site)
	if apierrors.IsInvalid(err) { // for example because such an object has another controller
		setRefused(site, err)
		return ctrl.Result{}, errors.Join(err, r.report(ctx, site, before.Status))
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	site.Status.Address = observed.address
	setAvailable(site, observed.availableReplicas)

	err = r.Registry.Register(ctx, site.Spec.Host, observed.address, string(site.UID))
	if err != nil && !errors.Is(err, ErrTaken) {
		return ctrl.Result{}, fmt.Errorf("registering %s: %w", site.Spec.Host, err)
	}
	setRegistered(site, err)

	return ctrl.Result{RequeueAfter: renewal}, r.report(ctx, site, before.Status)
}

// report stores the status of a Website if it has changed.
func (r *Reconciler) report(ctx context.Context, site *Website, before WebsiteStatus) error {
	if equality.Semantic.DeepEqual(before, site.Status) {
		return nil
	}
	if err := r.Status().Update(ctx, site); err != nil {
		return fmt.Errorf("updating the status: %w", err)
	}
	r.record(site, before)
	return nil
}

// release gives the host back and lets the Website go. The garbage collector deletes the rest.
func (r *Reconciler) release(ctx context.Context, site *Website) error {
	if !controllerutil.ContainsFinalizer(site, Finalizer) {
		return nil
	}
	if err := r.Registry.Release(ctx, site.Spec.Host, string(site.UID)); err != nil {
		return fmt.Errorf("releasing %s: %w", site.Spec.Host, err)
	}
	controllerutil.RemoveFinalizer(site, Finalizer)
	return r.Update(ctx, site)
}
