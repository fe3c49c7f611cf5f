package auth

import (
	"context"
	"errors"
	"time"

	"github.com/tidwall/gjson"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/store"
)

// objects reads the objects that tokens depend on, for upstream's code. It fills in only their
// uid and deletionTimestamp, the latter by the clock of the machine, because upstream compares
// it with that.
type objects struct {
	store *store.Store
	now   func() time.Time
}

var (
	serviceAccounts = schema.GroupResource{Resource: "serviceaccounts"}
	pods            = schema.GroupResource{Resource: "pods"}
	secrets         = schema.GroupResource{Resource: "secrets"}
	nodes           = schema.GroupResource{Resource: "nodes"}
)

// metadata returns a part of the metadata of an object. The namespace is empty for a
// cluster-scoped resource.
func (o objects) metadata(of schema.GroupResource, namespace, name string) (metav1.ObjectMeta, error) {
	key := "/registry/" + of.Resource + "/" + name
	if namespace != "" {
		key = "/registry/" + of.Resource + "/" + namespace + "/" + name
	}
	record, err := o.store.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return metav1.ObjectMeta{}, apierrors.NewNotFound(of, name)
	}
	if err != nil {
		return metav1.ObjectMeta{}, err
	}
	metadata := gjson.Get(record.Value, "metadata")
	out := metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(metadata.Get("uid").Str)}
	if deleted := metadata.Get("deletionTimestamp"); deleted.Exists() {
		at, err := time.Parse(time.RFC3339, deleted.Str)
		if err != nil {
			return metav1.ObjectMeta{}, err
		}
		out.DeletionTimestamp = &metav1.Time{Time: at.Add(time.Since(o.now()))}
	}
	return out, nil
}

// The methods of upstream's serviceaccount.ServiceAccountTokenGetter.

func (o objects) GetServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	metadata, err := o.metadata(serviceAccounts, namespace, name)
	return &corev1.ServiceAccount{ObjectMeta: metadata}, err
}

func (o objects) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	metadata, err := o.metadata(pods, namespace, name)
	return &corev1.Pod{ObjectMeta: metadata}, err
}

func (o objects) GetSecret(_ context.Context, namespace, name string) (*corev1.Secret, error) {
	metadata, err := o.metadata(secrets, namespace, name)
	return &corev1.Secret{ObjectMeta: metadata}, err
}

func (o objects) GetNode(_ context.Context, name string) (*corev1.Node, error) {
	metadata, err := o.metadata(nodes, "", name)
	return &corev1.Node{ObjectMeta: metadata}, err
}

// Tokens can only be bound to webhook configurations under an alpha feature gate.

func (o objects) GetValidatingWebhookConfiguration(_ context.Context, name string) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	return nil, apierrors.NewNotFound(admissionregistrationv1.Resource("validatingwebhookconfigurations"), name)
}

func (o objects) GetMutatingWebhookConfiguration(_ context.Context, name string) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	return nil, apierrors.NewNotFound(admissionregistrationv1.Resource("mutatingwebhookconfigurations"), name)
}
