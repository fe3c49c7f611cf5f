package authentication

import (
	"bytes"
	"context"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/manifests"
)

// reloadingTokens authenticates tokens of the issuers in a file. A real server watches the file. Here each token checks
// whether it has changed, so that a change applies to the next token. A file with mistakes changes nothing.
type reloadingTokens struct {
	closing context.Context
	first   *OpenID

	mu   sync.Mutex
	by   authenticator.Token
	data []byte
	read manifests.Stamp
}

func newReloadingTokens(closing context.Context, o *OpenID, by authenticator.Token) *reloadingTokens {
	return &reloadingTokens{closing: closing, first: o, by: by, data: o.from.data, read: o.from.read}
}

// AuthenticateToken implements authenticator.Token.
func (r *reloadingTokens) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	return r.current().AuthenticateToken(ctx, token)
}

// current returns the authenticator for the current content of the file.
func (r *reloadingTokens) current() authenticator.Token {
	r.mu.Lock()
	defer r.mu.Unlock()
	current := manifests.StampOf(r.first.from.path)
	if current.Equals(r.read) {
		return r.by
	}
	r.read = current
	if err := r.load(); err != nil {
		klog.ErrorS(err, "reloading authentication config")
	}
	return r.by
}

// load reads the file if it has changed.
func (r *reloadingTokens) load() error {
	data, err := manifests.ReadFile(r.first.from.path)
	if err != nil || bytes.Equal(data, r.data) {
		return err
	}
	r.data = data
	config, err := parseAuthentication(data)
	if err != nil {
		return err
	}
	o, err := newOpenID(config, r.first.algorithms, r.first.own)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(config.Anonymous, r.first.from.anonymous) {
		return field.Forbidden(field.NewPath("anonymous"), "changed from initial configuration file")
	}
	by, err := o.tokens(r.closing)
	if err != nil {
		return err
	}
	r.by = by
	return nil
}
