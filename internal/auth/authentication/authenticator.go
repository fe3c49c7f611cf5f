package authentication

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"gopkg.in/go-jose/go-jose.v2/jwt"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	requestunion "k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	apiserverserviceaccount "k8s.io/apiserver/pkg/authentication/serviceaccount"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kubernetes/pkg/serviceaccount"
	"k8s.io/kubernetes/plugin/pkg/auth/authenticator/token/bootstrap"

	"github.com/fakecluster/fakecluster/store"
)

// Admin is the user of the cluster's own token, a member of system:masters.
var Admin user.Info = &user.DefaultInfo{
	Name:   "kubernetes-admin",
	Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
}

// Anonymous is the user of requests without credentials, if they are accepted.
var Anonymous user.Info = &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}

// maxAccepted is the maximum number of accepted tokens in the cache of an Authenticator. When it is reached, the cache
// is cleared.
const maxAccepted = 1000

// Authenticator authenticates the users of a cluster. It is safe for concurrent use.
type Authenticator struct {
	token   string
	issuer  *Issuer
	options Users
	objects objects
	patch   Patcher

	// every is upstream's authenticator for all credentials that the cluster accepts.
	every authenticator.Request

	mu       sync.RWMutex
	accepted map[string]acceptedToken
}

// acceptedToken is the user of an accepted token.
type acceptedToken struct {
	user user.Info
	// still returns an error if the token is no longer valid; nil: it is always valid.
	still func(context.Context) error
}

// NewAuthenticator returns the authenticator of a cluster with its own token, and with its objects in the store, under
// keys with the prefixes. Tokens expire by the clock now. patch sets the label with the last use of a Secret's token.
// The context closing ends with the cluster.
func NewAuthenticator(closing context.Context, token string, issuer *Issuer, o Users, s *store.Store, prefixes func(plural string) string, now func() time.Time, patch Patcher) (*Authenticator, error) {
	a := &Authenticator{token: token, issuer: issuer, options: o, objects: objects{s, prefixes, now}, patch: patch, accepted: map[string]acceptedToken{}}
	own := authenticator.WrapAudienceAgnosticToken(issuer.Audiences(), authenticator.TokenFunc(a.authenticateOwn))
	bearers := []authenticator.Token{own}
	if o.Tokens != nil {
		bearers = append(bearers, authenticator.WrapAudienceAgnosticToken(issuer.Audiences(), o.Tokens))
	}
	bearers = append(bearers, authenticator.TokenFunc(a.authenticateAccount))
	if o.BootstrapTokens {
		bearers = append(bearers, authenticator.WrapAudienceAgnosticToken(issuer.Audiences(), bootstrap.NewTokenAuthenticator(a.objects.bootstrapTokens())))
	}
	if o.OpenID != nil {
		others, err := o.OpenID(closing)
		if err != nil {
			return nil, err
		}
		bearers = append(bearers, authenticator.WrapAudienceAgnosticToken(issuer.Audiences(), others))
	}
	if o.Webhook != nil {
		bearers = append(bearers, o.Webhook)
	}
	tokens := tokenunion.New(bearers...)
	// As a real server does for the token of its loopback client, a separate authenticator checks for the cluster's
	// token first. So errors about another token begin with the error of this authenticator.
	requests := []authenticator.Request{bearertoken.New(own)}
	if o.FrontProxy != nil {
		requests = append(requests, authenticator.WrapAudienceAgnosticRequest(issuer.Audiences(), o.FrontProxy))
	}
	certificates := eitherAuthority{x509request.NewDynamic(trusted, x509request.UserConversionFunc(a.userOf))}
	if o.ClientCA != nil {
		certificates = append(certificates, x509request.NewDynamic(clientCertificates(o.ClientCA), x509request.CommonNameUserConversion))
	}
	requests = append(requests, certificates)
	requests = append(requests, bearertoken.New(tokens), websocket.NewProtocolAuthenticator(tokens))
	a.every = group.NewAuthenticatedGroupAdder(requestunion.New(requests...))
	if o.Requests != nil {
		a.every = requestunion.New(a.every, o.Requests)
	}
	return a, nil
}

// Authenticate returns the user of a request. ok is false if the request has no credentials that the cluster accepts;
// err may be the reason. A request with wrong credentials is never anonymous.
func (a *Authenticator) Authenticate(req *http.Request) (by user.Info, ok bool, err error) {
	token, bears := bearerOf(req)
	if bears && (req.TLS == nil || len(req.TLS.PeerCertificates) == 0) {
		if by := a.remembered(req.Context(), token); by != nil {
			return by, true, nil
		}
	}
	checks := &checks{}
	response, ok, err := a.every.AuthenticateRequest(req.WithContext(context.WithValue(req.Context(), checksKey{}, checks)))
	if !ok && err == nil && a.options.Anonymous && a.MayBeAnonymous(req.URL.Path) {
		return Anonymous, true, nil
	}
	if !ok || err != nil {
		return nil, false, err
	}
	if bears && checks.decided {
		a.remember(token, acceptedToken{response.User, checks.still})
	}
	return response.User, true, nil
}

// MayBeAnonymous reports whether anonymous requests may be sent to a path, if anonymous requests are accepted.
func (a *Authenticator) MayBeAnonymous(path string) bool {
	return !a.options.NotAnonymous && (len(a.options.AnonymousPaths) == 0 || slices.Contains(a.options.AnonymousPaths, path))
}

// AuthenticateRequest implements authenticator.Request for a request that has the token of a TokenReview and no path. It
// respects the audiences in the context of the request. A blank token is no credential, so the user is the anonymous one.
func (a *Authenticator) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	response, ok, err := a.every.AuthenticateRequest(req)
	if !ok && err == nil && a.options.Anonymous && a.MayBeAnonymous("") {
		audiences, _ := authenticator.AudiencesFrom(req.Context())
		return &authenticator.Response{User: Anonymous, Audiences: audiences}, true, nil
	}
	return response, ok, err
}

// bearerOf returns the bearer token of a request.
func bearerOf(req *http.Request) (string, bool) {
	scheme, token, ok := strings.Cut(strings.TrimSpace(req.Header.Get("Authorization")), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(token), true
}

// isOwn reports whether a token is the cluster's own.
func (a *Authenticator) isOwn(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(a.token)) == 1
}

// remembered returns the user of a token that was accepted before and is still valid; nil: none.
func (a *Authenticator) remembered(ctx context.Context, token string) user.Info {
	if a.isOwn(token) {
		return Admin
	}
	a.mu.RLock()
	k, ok := a.accepted[token]
	a.mu.RUnlock()
	if !ok {
		return nil
	}
	if k.still != nil && k.still(ctx) != nil {
		a.mu.Lock()
		delete(a.accepted, token)
		a.mu.Unlock()
		return nil
	}
	return k.user
}

func (a *Authenticator) remember(token string, k acceptedToken) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.accepted) >= maxAccepted {
		clear(a.accepted)
	}
	a.accepted[token] = k
}

// checks has the results of token authenticators for Authenticate, in the context of the request.
type checks struct {
	decided bool // a token was accepted, and may be cached
	still   func(context.Context) error
}

type checksKey struct{}

func decide(ctx context.Context, still func(context.Context) error) {
	if c, ok := ctx.Value(checksKey{}).(*checks); ok {
		c.decided, c.still = true, still
	}
}

// authenticateOwn accepts the cluster's own tokens.
func (a *Authenticator) authenticateOwn(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	if a.isOwn(token) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: Admin.GetName(), Groups: []string{user.SystemPrivilegedGroup}}}, true, nil
	}
	b, ok := a.unseal(token)
	if !ok {
		return nil, false, nil
	}
	by, err := b.user(a.objects)
	if err != nil {
		return nil, false, err
	}
	var still func(context.Context) error
	if b.Account != "" {
		still = func(context.Context) error {
			owner, err := b.user(a.objects)
			if err == nil && owner.GetUID() != by.GetUID() {
				err = errOtherAccount
			}
			return err
		}
	}
	decide(ctx, still)
	return &authenticator.Response{User: by}, true, nil
}

// authenticateAccount accepts the tokens of service accounts that the issuer has signed.
func (a *Authenticator) authenticateAccount(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	if strings.Count(token, ".") != 2 {
		return nil, false, nil // not a JSON Web Token; do not create the key for others
	}
	if err := a.issuer.make(); err != nil {
		return nil, false, err
	}
	legacy, err := a.authenticateSecret(a.patch)
	if err != nil {
		return nil, false, err
	}
	bound := accounts(a.issuer.urls(), a.issuer.keys, a.issuer.Audiences(), byClock(serviceaccount.NewValidator(a.objects), a.objects.now))
	return tokenunion.New(legacy, bound).AuthenticateToken(ctx, token)
}

// accounts returns upstream's authenticator of tokens of service accounts.
func accounts[P any](issuers []string, keys serviceaccount.PublicKeysGetter, audiences authenticator.Audiences, v serviceaccount.Validator[P]) authenticator.Token {
	return serviceaccount.JWTTokenAuthenticator(issuers, keys, audiences, v)
}

// clocked is upstream's validator of claims, with the clock of the cluster.
type clocked[P any] struct {
	serviceaccount.Validator[P]
	now func() time.Time
}

func byClock[P any](v serviceaccount.Validator[P], now func() time.Time) serviceaccount.Validator[P] {
	return clocked[P]{v, now}
}

// Validate implements upstream's Validator.
func (c clocked[P]) Validate(ctx context.Context, token string, public *jwt.Claims, private *P) (*apiserverserviceaccount.ServiceAccountInfo, error) {
	validate := func(ctx context.Context) (*apiserverserviceaccount.ServiceAccountInfo, error) {
		moved := moveClaims(public, time.Since(c.now()))
		return c.Validator.Validate(ctx, token, &moved, private)
	}
	info, err := validate(ctx)
	if err == nil {
		decide(ctx, func(ctx context.Context) error {
			_, err := validate(ctx)
			return err
		})
	}
	return info, err
}

// SerialNumber returns the serial number in the subject of client certificates for the cluster. The cluster and its
// forks accept only certificates with this number, because all clusters of the process share the authority.
func (a *Authenticator) SerialNumber() string {
	sum := sha256.Sum256([]byte("certificates of " + a.token))
	return hex.EncodeToString(sum[:16])
}

// CertificateFor returns a new client certificate for a user with groups, and its key, as PEM. It is valid for this
// cluster and its forks.
func (a *Authenticator) CertificateFor(name string, groups ...string) (certificate, key []byte, err error) {
	authority, err := OfProcess()
	if err != nil {
		return nil, nil, err
	}
	return authority.clientCertificate(&user.DefaultInfo{Name: name, Groups: groups}, a.SerialNumber())
}

// trusted returns the options to verify client certificates of the process's authority.
func trusted() (x509.VerifyOptions, bool) {
	authority, err := OfProcess()
	if err != nil {
		return x509.VerifyOptions{}, false
	}
	return clientCertificates(authority.Pool)()
}

// clientCertificates returns a function that returns the options to verify client certificates of authorities.
func clientCertificates(authorities func() *x509.CertPool) x509request.VerifyOptionFunc {
	return func() (x509.VerifyOptions, bool) {
		return x509.VerifyOptions{Roots: authorities(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, true
	}
}

// eitherAuthority has an authenticator for each authority of client certificates.
type eitherAuthority []authenticator.Request

// AuthenticateRequest implements authenticator.Request. It returns an error if no authority has issued the certificate.
// A certificate without a user is not an error: the request may have other credentials, or none.
func (e eitherAuthority) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	var errs []error
	for _, by := range e {
		response, ok, err := by.AuthenticateRequest(req)
		if err == nil {
			return response, ok, nil
		}
		errs = append(errs, err)
	}
	return nil, false, errors.Join(errs...)
}

// userOf returns the user of a client certificate, which must be for this cluster.
func (a *Authenticator) userOf(chain []*x509.Certificate) (*authenticator.Response, bool, error) {
	if chain[0].Subject.SerialNumber != a.SerialNumber() {
		return nil, false, errors.New("the certificate is for another cluster")
	}
	return x509request.CommonNameUserConversion.User(chain)
}
