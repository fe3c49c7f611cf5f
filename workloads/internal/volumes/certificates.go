package volumes

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/timing"
)

const (
	// abandonPeriod is the minimum of time after which a kubelet regards a request that it does not see as deleted.
	abandonPeriod = 10 * time.Minute
	// overduePeriod is the delay of a certificate's renewal after which there is an Event.
	overduePeriod = 10 * time.Minute
	// certificateJitter is the maximum of the random delay before a kubelet requests the next certificate.
	certificateJitter = 5 * time.Minute
)

// certificateSource is a source of the type podCertificate in a projected volume.
type certificateSource struct {
	volume string
	index  int // of the source
}

// certificate is the private key and the certificate of a source, and the request for the next ones, as in the kubelet's
// podcertificate manager.
type certificate struct {
	key, chain []byte // PEM; chain is empty until a certificate is issued
	refreshAt  time.Time
	notAfter   time.Time
	// overdue and expired: the Event was recorded.
	overdue, expired bool

	request    string // the name of the pending PodCertificateRequest; empty: there is none
	requestKey []byte
	made       *keyPair // for the next request; nil: none is being made
	abandonAt  time.Time
	requests   int // so far

	refused error        // the reason why there will be no certificate
	retry   timing.Retry // of a request that could not be created
}

// Certify requests the certificates of the pod, and takes over those that signers have issued.
func (p *Pod) Certify(ctx context.Context, now time.Time) {
	if p.node.config.Requests == nil {
		return // the feature is off
	}
	for i := range p.api.Spec.Volumes {
		v := &p.api.Spec.Volumes[i]
		if v.Projected == nil {
			continue
		}
		for j := range v.Projected.Sources {
			s := v.Projected.Sources[j].PodCertificate
			if s == nil {
				continue
			}
			source := certificateSource{v.Name, j}
			c := p.certificates[source]
			if c == nil {
				c = &certificate{}
				p.certificates[source] = c
				// A kubelet mounts the volume a moment later, when a fast signer has issued the certificate.
				p.mount.Time = now.Add(p.durations().Between("certificate", 100*time.Millisecond, 200*time.Millisecond))
			}
			if err := p.renew(ctx, s, source, c, now); err != nil {
				c.retry.Failed(now, 5*time.Millisecond, 1000*time.Second)
				p.node.config.Logger.V(2).Info("A certificate of a pod is not requested yet", "pod", p.key(), "volume", v.Name, "err", err)
			}
		}
	}
}

// renew does what is due for a certificate.
func (p *Pod) renew(ctx context.Context, s *corev1.PodCertificateProjection, source certificateSource, c *certificate, now time.Time) error {
	if c.refused != nil || now.Before(c.retry.Time) {
		return nil
	}
	if c.request != "" {
		answered, err := p.takeOver(ctx, source, c, now)
		if err != nil || answered {
			return err
		}
	}
	p.recordAge(ctx, c, now)
	if c.request != "" || now.Before(c.refreshAt) {
		return nil
	}
	if c.made == nil {
		c.made = p.makeKey(s.KeyType)
	}
	if done, key, proof, err := c.made.result(); done {
		c.made = nil
		if err != nil {
			return err
		}
		return p.requestCertificate(ctx, s, source, c, key, proof, now)
	}
	return nil
}

// keyPair is a private key that is made on a goroutine of its own, because an RSA key takes seconds, and the node has
// other pods.
type keyPair struct {
	mu         sync.Mutex
	done       bool
	key, proof []byte
	err        error
}

// makeKey begins to make a private key. The pod is synced again when it is done.
func (p *Pod) makeKey(keyType string) *keyPair {
	made := &keyPair{}
	p.node.config.Go(func() {
		key, proof, err := newKey(keyType)
		made.mu.Lock()
		made.done, made.key, made.proof, made.err = true, key, proof, err
		made.mu.Unlock()
		p.node.config.Enqueue(p.uid)
	})
	return made
}

// result reports whether the key is done, and returns it.
func (k *keyPair) result() (done bool, key, proof []byte, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.done, k.key, k.proof, k.err
}

// takeOver takes over the result of a request, and reports whether there is one. A deleted request has none, and another
// must follow.
func (p *Pod) takeOver(ctx context.Context, source certificateSource, c *certificate, now time.Time) (answered bool, err error) {
	request, err := p.node.config.Requests.PodCertificateRequests(p.api.Namespace).Get(c.request)
	switch {
	case apierrors.IsNotFound(err) && now.Before(c.abandonAt):
		return false, nil // the informer may be late
	case apierrors.IsNotFound(err):
		c.request = ""
		return false, nil
	case err != nil:
		return false, err
	}
	for _, condition := range request.Status.Conditions {
		name, refusal, verb := request.Namespace+"/"+request.Name, "failed", "failed"
		switch condition.Type {
		case certificatesv1.PodCertificateRequestConditionTypeIssued:
			*c = certificate{
				key: c.requestKey, chain: certificatesOf(request.Status.CertificateChain), requests: c.requests,
				refreshAt: ptr.Deref(request.Status.BeginRefreshAt, metav1.Time{}).Add(p.certificateJitter(source, c, "refresh")),
				notAfter:  ptr.Deref(request.Status.NotAfter, metav1.Time{}).Time,
			}
			if p.mounted {
				p.Outdate(now)
			}
			return true, nil
		case certificatesv1.PodCertificateRequestConditionTypeDenied:
			refusal, verb = "denied", "was denied"
		case certificatesv1.PodCertificateRequestConditionTypeFailed:
		default:
			continue
		}
		c.request = ""
		c.refused = fmt.Errorf("PodCertificateRequest was permanently %s: reason=%q message=%q", refusal, condition.Reason, condition.Message)
		text := fmt.Sprintf("PodCertificateRequest %s %s, reason=%q, message=%q", name, verb, condition.Reason, condition.Message)
		// A kubelet passes the reason as the format of the message.
		p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeWarning, condition.Type, condition.Reason, text)
		return true, nil
	}
	return false, nil
}

// recordAge records an Event for a certificate that is overdue or expired.
func (p *Pod) recordAge(ctx context.Context, c *certificate, now time.Time) {
	if len(c.chain) == 0 {
		return
	}
	if !c.overdue && !now.Before(c.refreshAt.Add(overduePeriod)) {
		c.overdue = true
		p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeWarning, "CertificateOverdueForRefresh", "PodCertificate refresh overdue")
	}
	if !c.expired && !now.Before(c.notAfter) {
		c.expired = true
		p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeWarning, "CertificateExpired", "PodCertificate expired")
	}
}

// requestCertificate creates a PodCertificateRequest for a private key.
func (p *Pod) requestCertificate(ctx context.Context, s *corev1.PodCertificateProjection, source certificateSource, c *certificate, key, proof []byte, now time.Time) error {
	account, err := p.node.config.Client.CoreV1().ServiceAccounts(p.api.Namespace).Get(ctx, p.api.Spec.ServiceAccountName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("while fetching service account: %w", err)
	}
	object := p.node.config.Object()
	if object == nil {
		return fmt.Errorf("node %s does not exist", p.node.config.Spec.Name)
	}
	request, err := p.node.config.Client.CertificatesV1().PodCertificateRequests(p.api.Namespace).Create(ctx, &certificatesv1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.api.Namespace, GenerateName: "req-",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: p.api.Name, UID: p.api.UID}},
		},
		Spec: certificatesv1.PodCertificateRequestSpec{
			SignerName: s.SignerName, PodName: p.api.Name, PodUID: p.api.UID,
			ServiceAccountName: account.Name, ServiceAccountUID: account.UID,
			NodeName: types.NodeName(p.node.config.Spec.Name), NodeUID: object.UID,
			MaxExpirationSeconds: s.MaxExpirationSeconds, StubPKCS10Request: proof, UnverifiedUserAnnotations: s.UserAnnotations,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("while creating on API: %w", err)
	}
	c.requests++
	c.request, c.requestKey, c.retry = request.Name, key, timing.Retry{}
	c.abandonAt = now.Add(abandonPeriod + p.certificateJitter(source, c, "abandon"))
	return nil
}

// certificateJitter returns a random delay for an action on a certificate.
func (p *Pod) certificateJitter(source certificateSource, c *certificate, what string) time.Duration {
	return p.durations().Between(what+"/"+source.volume+"/"+strconv.Itoa(source.index)+"/"+strconv.Itoa(c.requests), 0, certificateJitter)
}

// certificatesDue returns the time of the next action on a certificate.
func (p *Pod) certificatesDue(now time.Time) time.Time {
	var next time.Time
	for _, c := range p.certificates {
		if c.refused != nil {
			continue
		}
		next = timing.Earlier(next, c.retry.Time, now)
		if c.request != "" {
			next = timing.Earlier(next, c.abandonAt, now)
		}
		if len(c.chain) > 0 {
			next = timing.Earlier(next, c.refreshAt, now)
			next = timing.Earlier(next, c.refreshAt.Add(overduePeriod), now)
			next = timing.Earlier(next, c.notAfter, now)
		}
	}
	return next
}

// AwaitsCertificates reports whether a certificate of the pod is neither issued nor denied.
func (p *Pod) AwaitsCertificates() bool {
	for _, c := range p.certificates {
		if c.refused == nil && len(c.chain) == 0 {
			return true
		}
	}
	return false
}

// certificateFiles returns the files of a source of type podCertificate.
func (p *Pod) certificateFiles(s *corev1.PodCertificateProjection, source certificateSource, mode *int32) (payload, error) {
	c := p.certificates[source]
	switch {
	case c == nil:
		return nil, errors.New("unimplemented") // the error of a kubelet whose feature is off
	case c.refused != nil:
		return nil, c.refused
	case len(c.chain) == 0:
		return nil, errors.New("credential bundle is not issued yet")
	}
	merged := payload{}
	for path, data := range map[string][]byte{
		s.CredentialBundlePath: bytes.Join([][]byte{c.key, c.chain}, nil), s.KeyPath: c.key, s.CertificateChainPath: c.chain,
	} {
		if path != "" {
			merged[path] = p.credential(data, mode)
		}
	}
	return merged, nil
}

// newKey returns a private key as PEM, and a proof of its possession.
func newKey(keyType string) (key, proof []byte, err error) {
	private, err := generateKey(keyType)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	proof, err = x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, private)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), proof, err
}

func generateKey(keyType string) (crypto.Signer, error) {
	switch keyType {
	case "RSA3072":
		return rsa.GenerateKey(rand.Reader, 3072)
	case "RSA4096":
		return rsa.GenerateKey(rand.Reader, 4096)
	case "ECDSAP256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ECDSAP384":
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ECDSAP521":
		return ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "ED25519":
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	return nil, fmt.Errorf("unknown key type %q", keyType)
}

// certificatesOf returns the certificates in a PEM text, without the text between them.
func certificatesOf(text string) []byte {
	var bundle []byte
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes})...)
	}
	return bundle
}
