package authentication

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// bearer is the user in one of the cluster's own tokens.
type bearer struct {
	// User and Groups are the user. If they are empty, the user is the service account Account in Namespace, at the time
	// of the request.
	User      string   `json:"user,omitempty"`
	Groups    []string `json:"groups,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	Account   string   `json:"serviceAccount,omitempty"`
}

// TokenFor returns a token for a user with groups. It does not expire.
func (a *Authenticator) TokenFor(name string, groups ...string) string {
	return a.seal(bearer{User: name, Groups: groups})
}

// TokenForServiceAccount returns a token for a service account. It does not expire, but is valid only while the service
// account exists.
func (a *Authenticator) TokenForServiceAccount(namespace, name string) string {
	return a.seal(bearer{Namespace: namespace, Account: name})
}

// seal encodes the bearer of a token, and signs it.
func (a *Authenticator) seal(b bearer) string {
	text, err := json.Marshal(b)
	if err != nil {
		panic(err) // strings can be encoded
	}
	payload := base64.RawURLEncoding.EncodeToString(text)
	return payload + "." + base64.RawURLEncoding.EncodeToString(a.signature(payload))
}

// signature returns the signature of the payload of a token.
func (a *Authenticator) signature(payload string) []byte {
	mac := hmac.New(sha256.New, []byte("users of "+a.token))
	mac.Write([]byte(payload))
	return mac.Sum(nil)
}

// unseal decodes the bearer of a token. ok is false if it is not a token of the cluster.
func (a *Authenticator) unseal(token string) (b bearer, ok bool) {
	payload, signature, found := strings.Cut(token, ".")
	if !found {
		return b, false
	}
	given, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || !hmac.Equal(given, a.signature(payload)) {
		return b, false
	}
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return b, false
	}
	return b, json.Unmarshal(text, &b) == nil
}

// user returns the current user of the token.
func (b bearer) user(objects objects) (user.Info, error) {
	if b.Account == "" {
		return &user.DefaultInfo{Name: b.User, Groups: b.Groups}, nil
	}
	account, err := objects.metadata(serviceAccounts, b.Namespace, b.Account)
	if err != nil {
		return nil, fmt.Errorf("the token of service account %s/%s: %w", b.Namespace, b.Account, err)
	}
	if account.DeletionTimestamp != nil {
		return nil, errors.New("the service account is being deleted")
	}
	info := serviceaccount.ServiceAccountInfo{Namespace: b.Namespace, Name: b.Account, UID: string(account.UID)}
	return info.UserInfo(), nil
}

// errOtherAccount is the error if a service account was deleted and recreated after its token was accepted.
var errOtherAccount = errors.New("the service account was deleted and created again")
