package authentication

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// Patcher carries out a merge patch of a Secret, as the server itself.
type Patcher func(ctx context.Context, namespace, name string, patch []byte) error

// lastUsed is the layout of the label with the date of the last use of a Secret's token.
const lastUsed = "2006-01-02"

// authenticateSecret accepts the tokens in Secrets of the type kubernetes.io/service-account-token, which do not expire.
// A label of the Secret has the date of the last use.
func (a *Authenticator) authenticateSecret(patch Patcher) (authenticator.Token, error) {
	validator, err := serviceaccount.NewLegacyValidator(true, a.objects, secretLabels{patch, a.objects.now})
	if err != nil {
		return nil, err
	}
	return accounts([]string{serviceaccount.LegacyIssuer}, a.issuer.keys, a.issuer.Audiences(), validator), nil
}

// secretLabels is the client with which upstream's validator sets the label.
type secretLabels struct {
	patch Patcher
	now   func() time.Time
}

// Secrets implements corev1client.SecretsGetter.
func (l secretLabels) Secrets(namespace string) corev1client.SecretInterface {
	return labelled{secretLabels: l, namespace: namespace}
}

// labelled sets the label of a Secret. The validator calls no other method of the interface.
type labelled struct {
	corev1client.SecretInterface
	secretLabels
	namespace string
}

// Patch implements corev1client.SecretInterface. It sets the date by the clock of the cluster; upstream's is by that of
// the machine.
func (l labelled) Patch(ctx context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*corev1.Secret, error) {
	var patch map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	if metadata, ok := patch["metadata"].(map[string]any); ok {
		metadata["labels"] = map[string]any{serviceaccount.LastUsedLabelKey: l.now().UTC().Format(lastUsed)}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return nil, l.patch(ctx, l.namespace, name, data)
}
