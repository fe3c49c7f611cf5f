// Package project is an operator that is laid out as kubebuilder lays out one: a kind with its
// definition, webhooks, a controller, and a suite on envtest. Its suite does not know what runs as
// the control plane.
package project

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Guestbook is printed into a ConfigMap, page by page.
type Guestbook struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GuestbookSpec   `json:"spec,omitempty"`
	Status            GuestbookStatus `json:"status,omitempty"`
}

// GuestbookSpec is what is wanted.
type GuestbookSpec struct {
	Pages int32  `json:"pages,omitempty"`
	Title string `json:"title,omitempty"`
}

// GuestbookStatus is what has been done.
type GuestbookStatus struct {
	Printed int32 `json:"printed,omitempty"`
}

// GuestbookList is a list of them.
type GuestbookList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Guestbook `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (g *Guestbook) DeepCopyObject() runtime.Object {
	out := *g
	g.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *GuestbookList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Guestbook))
	}
	return &out
}

// AddToScheme makes the kinds known.
func AddToScheme(s *runtime.Scheme) error {
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	s.AddKnownTypes(gv, &Guestbook{}, &GuestbookList{})
	metav1.AddToGroupVersion(s, gv)
	return nil
}

// Reconciler prints guestbooks.
type Reconciler struct{ client.Client }

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var book Guestbook
	if err := r.Get(ctx, req.NamespacedName, &book); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	printed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: book.Namespace, Name: book.Name}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, printed, func() error {
		printed.Data = map[string]string{}
		for page := range book.Spec.Pages {
			printed.Data[fmt.Sprintf("page-%d", page+1)] = book.Spec.Title
		}
		return controllerutil.SetControllerReference(&book, printed, r.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	if book.Status.Printed == book.Spec.Pages {
		return ctrl.Result{}, nil
	}
	book.Status.Printed = book.Spec.Pages
	return ctrl.Result{}, r.Status().Update(ctx, &book)
}

// SetupWithManager registers the controller and the webhooks.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := ctrl.NewWebhookManagedBy(mgr, &Guestbook{}).WithDefaulter(defaulter{}).WithValidator(validator{}).Complete(); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).For(&Guestbook{}).Owns(&corev1.ConfigMap{}).Complete(r)
}

type defaulter struct{}

func (defaulter) Default(_ context.Context, book *Guestbook) error {
	if book.Spec.Pages == 0 {
		book.Spec.Pages = 3
	}
	return nil
}

type validator struct{}

func (validator) ValidateCreate(_ context.Context, book *Guestbook) (admission.Warnings, error) {
	if book.Spec.Title == "" {
		return nil, errors.New("a guestbook needs a title")
	}
	return nil, nil
}

func (v validator) ValidateUpdate(ctx context.Context, was, is *Guestbook) (admission.Warnings, error) {
	if is.Spec.Pages < was.Spec.Pages {
		return admission.Warnings{"pages are torn out"}, nil
	}
	return v.ValidateCreate(ctx, is)
}

func (validator) ValidateDelete(context.Context, *Guestbook) (admission.Warnings, error) {
	return nil, nil
}
