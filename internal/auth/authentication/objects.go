package authentication

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tidwall/gjson"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1listers "k8s.io/client-go/listers/core/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/fakecluster/fakecluster/store"
)

// objects reads the objects to which tokens are bound, for upstream's code. It sets only their uid and
// deletionTimestamp, the latter by the clock of the machine, with which upstream compares it.
type objects struct {
	store    *store.Store
	prefixes func(plural string) string // the prefix of the store keys of a built-in resource
	now      func() time.Time
}

var (
	serviceAccounts = schema.GroupResource{Resource: "serviceaccounts"}
	pods            = schema.GroupResource{Resource: "pods"}
	secrets         = schema.GroupResource{Resource: "secrets"}
	nodes           = schema.GroupResource{Resource: "nodes"}
)

// metadata returns the uid and deletionTimestamp of an object. The namespace is empty for a cluster-scoped resource.
func (o objects) metadata(resource schema.GroupResource, namespace, name string) (metav1.ObjectMeta, error) {
	_, metadata, err := o.read(resource, namespace, name)
	return metadata, err
}

// read returns the record of an object, and metadata of it. For an empty name, it returns the error of the client of a
// real server.
func (o objects) read(resource schema.GroupResource, namespace, name string) (store.Record, metav1.ObjectMeta, error) {
	if name == "" {
		return store.Record{}, metav1.ObjectMeta{}, errors.New("resource name may not be empty")
	}
	key := o.prefixes(resource.Resource) + name
	if namespace != "" {
		key = o.prefixes(resource.Resource) + namespace + "/" + name
	}
	record, err := o.store.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return record, metav1.ObjectMeta{}, apierrors.NewNotFound(resource, name)
	}
	if err != nil {
		return record, metav1.ObjectMeta{}, err
	}
	metadata := gjson.Get(record.Value, "metadata")
	out := metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(metadata.Get("uid").Str)}
	if deleted := metadata.Get("deletionTimestamp"); deleted.Exists() {
		since, err := time.Parse(time.RFC3339, deleted.Str)
		if err != nil {
			return record, metav1.ObjectMeta{}, err
		}
		out.DeletionTimestamp = &metav1.Time{Time: since.Add(time.Since(o.now()))}
	}
	return record, out, nil
}

// The methods of upstream's serviceaccount.ServiceAccountTokenGetter.

func (o objects) GetServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	record, metadata, err := o.read(serviceAccounts, namespace, name)
	account := &corev1.ServiceAccount{ObjectMeta: metadata}
	for _, listed := range gjson.Get(record.Value, "secrets.#.name").Array() {
		account.Secrets = append(account.Secrets, corev1.ObjectReference{Name: listed.Str})
	}
	return account, err
}

func (o objects) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	metadata, err := o.metadata(pods, namespace, name)
	return &corev1.Pod{ObjectMeta: metadata}, err
}

// GetSecret returns the whole Secret, whose token upstream compares. The label with today's date is changed to the date
// of the machine.
func (o objects) GetSecret(_ context.Context, namespace, name string) (*corev1.Secret, error) {
	secret, err := o.secret(namespace, name)
	if err == nil && secret.Labels[serviceaccount.LastUsedLabelKey] == o.now().UTC().Format(lastUsed) {
		secret.Labels[serviceaccount.LastUsedLabelKey] = time.Now().UTC().Format(lastUsed)
	}
	return secret, err
}

// bootstrapTokens lists the Secrets in kube-system.
func (o objects) bootstrapTokens() corev1listers.SecretNamespaceLister { return bootstrapSecrets{o} }

// bootstrapSecrets reads Secrets in kube-system.
type bootstrapSecrets struct{ objects objects }

// List implements corev1listers.SecretNamespaceLister. It is never called.
func (bootstrapSecrets) List(labels.Selector) ([]*corev1.Secret, error) {
	return nil, errors.New("bootstrap tokens are looked up by their names")
}

// Get implements corev1listers.SecretNamespaceLister. It changes the expiration of the token to the clock of the
// machine.
func (b bootstrapSecrets) Get(name string) (*corev1.Secret, error) {
	secret, err := b.objects.secret(metav1.NamespaceSystem, name)
	if err != nil {
		return nil, err
	}
	if expires, err := time.Parse(time.RFC3339, string(secret.Data[bootstrapapi.BootstrapTokenExpirationKey])); err == nil {
		secret.Data[bootstrapapi.BootstrapTokenExpirationKey] = []byte(expires.Add(time.Since(b.objects.now())).Format(time.RFC3339))
	}
	return secret, nil
}

// secret returns a whole Secret.
func (o objects) secret(namespace, name string) (*corev1.Secret, error) {
	record, metadata, err := o.read(secrets, namespace, name)
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{}
	if err := json.Unmarshal([]byte(record.Value), secret); err != nil {
		return nil, err
	}
	secret.DeletionTimestamp = metadata.DeletionTimestamp
	return secret, nil
}

func (o objects) GetNode(_ context.Context, name string) (*corev1.Node, error) {
	metadata, err := o.metadata(nodes, "", name)
	return &corev1.Node{ObjectMeta: metadata}, err
}

// Tokens can be bound to webhook configurations only with an alpha feature gate.

func (o objects) GetValidatingWebhookConfiguration(_ context.Context, name string) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	return nil, apierrors.NewNotFound(admissionregistrationv1.Resource("validatingwebhookconfigurations"), name)
}

func (o objects) GetMutatingWebhookConfiguration(_ context.Context, name string) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	return nil, apierrors.NewNotFound(admissionregistrationv1.Resource("mutatingwebhookconfigurations"), name)
}
