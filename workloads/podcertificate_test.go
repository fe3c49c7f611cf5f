package workloads_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads"
)

// signer signs the requests of the test, by hand.
type signer struct {
	world
	key  *ecdsa.PrivateKey
	root *x509.Certificate
	n    int64 // certificates until now
}

func newSigner(w world) *signer {
	w.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotBefore: time.Now(), NotAfter: time.Now().Add(1000 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		w.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		w.Fatal(err)
	}
	return &signer{w, key, root, 0}
}

// requests returns the requests that there are, the oldest first.
func (s *signer) requests() []certificatesv1.PodCertificateRequest {
	s.Helper()
	list, err := s.client.CertificatesV1().PodCertificateRequests("default").List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	slices.SortStableFunc(list.Items, func(a, b certificatesv1.PodCertificateRequest) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return list.Items
}

// issue answers the newest request with a certificate that is to be renewed after two thirds of its life.
func (s *signer) issue(life time.Duration) {
	s.Helper()
	requests := s.requests()
	request := &requests[len(requests)-1]
	proof, err := x509.ParseCertificateRequest(request.Spec.StubPKCS10Request)
	if err != nil {
		s.Fatal(err)
	}
	from, to := time.Now().Truncate(time.Second), time.Now().Truncate(time.Second).Add(life)
	s.n++
	template := &x509.Certificate{SerialNumber: big.NewInt(s.n), NotBefore: from, NotAfter: to, DNSNames: []string{string(request.Spec.PodName)}}
	der, err := x509.CreateCertificate(rand.Reader, template, s.root, proof.PublicKey, s.key)
	if err != nil {
		s.Fatal(err)
	}
	request.Status = certificatesv1.PodCertificateRequestStatus{
		CertificateChain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		NotBefore:        ptr.To(metav1.NewTime(from)), NotAfter: ptr.To(metav1.NewTime(to)), BeginRefreshAt: ptr.To(metav1.NewTime(from.Add(life * 2 / 3))),
	}
	s.answer(request, certificatesv1.PodCertificateRequestConditionTypeIssued)
}

// answer writes the status of a request.
func (s *signer) answer(request *certificatesv1.PodCertificateRequest, condition string) {
	s.Helper()
	request.Status.Conditions = []metav1.Condition{{
		Type: condition, Status: metav1.ConditionTrue, Reason: "Why", Message: "Because.", LastTransitionTime: metav1.Now(),
	}}
	if _, err := s.client.CertificatesV1().PodCertificateRequests("default").UpdateStatus(s.Context(), request, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// events returns the messages of the Events about the Pod that have a reason.
func (s *signer) events(reason string) (messages []string) {
	s.Helper()
	for _, e := range s.world.events("web") {
		if message, found := strings.CutPrefix(e, reason+": "); found {
			messages = append(messages, message)
		}
	}
	return messages
}

const podWithCertificate = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes:
  - name: tls
    projected:
      sources:
      - podCertificate:
          {signerName: acme.io/signer, keyType: ECDSAP256, credentialBundlePath: bundle.pem, keyPath: key.pem, certificateChainPath: chain.pem,
           maxExpirationSeconds: 7200, userAnnotations: {acme.io/color: red}}
  containers: [{name: c, image: app, volumeMounts: [{name: tls, mountPath: /tls}]}]
`

// TestAPodHasACertificate proves what a node requests, what a container sees, and when the certificate is renewed.
func TestAPodHasACertificate(t *testing.T) {
	var serials []string
	inBubble(t, func(w world) {
		s := newSigner(w)
		w.post(podWithCertificate)
		w.pass(0)
		requests := s.requests()
		if len(requests) != 1 {
			t.Fatalf("there are %d requests at once, want 1", len(requests))
		}
		pod := w.object("pods", "web")
		if owner := requests[0].OwnerReferences; len(owner) != 1 || owner[0].Kind != "Pod" || owner[0].UID != pod.GetUID() || owner[0].Controller != nil {
			t.Errorf("the owner is %v", owner)
		}
		want := certificatesv1.PodCertificateRequestSpec{
			SignerName: "acme.io/signer", PodName: "web", PodUID: pod.GetUID(),
			ServiceAccountName: "default", ServiceAccountUID: w.object("serviceaccounts", "default").GetUID(), NodeName: "n1", NodeUID: w.object("nodes", "n1").GetUID(),
			MaxExpirationSeconds: ptr.To[int32](7200), UnverifiedUserAnnotations: map[string]string{"acme.io/color": "red"},
			StubPKCS10Request: requests[0].Spec.StubPKCS10Request,
		}
		if diff := cmp.Diff(want, requests[0].Spec); diff != "" {
			t.Errorf("the request (-want +got):\n%s", diff)
		}
		s.issue(2 * time.Hour)
		w.pass(2 * time.Second)
		if got := strings.Join(serials, " "); got != "1" {
			t.Errorf("the serial numbers after two seconds are %q, want 1", got)
		}
		if got := s.events("FailedMount"); len(got) != 0 {
			t.Errorf("a signer that answers at once is late: %v", got)
		}

		w.pass(80*time.Minute - 2*time.Second)
		if n := len(s.requests()); n != 0 {
			t.Errorf("there are %d requests before it is time for the next one, want 0: answered ones are removed after a quarter of an hour", n)
		}
		w.pass(5 * time.Minute)
		requests = s.requests()
		if len(requests) != 1 {
			t.Fatalf("there are %d requests five minutes after the time to refresh, want 1", len(requests))
		}
		if late := requests[0].CreationTimestamp.Sub(pod.GetCreationTimestamp().Time) - 80*time.Minute; late < 0 || late > 5*time.Minute {
			t.Errorf("the second request comes %v after the time to refresh", late)
		}
		s.issue(2 * time.Hour)
		w.pass(3 * time.Minute)
		if got := strings.Join(serials, " "); got != "1 2" {
			t.Errorf("the serial numbers are %q, want 1 2", got)
		}
	}, workloads.Nodes(1), workloads.Image("app", func(ctx context.Context, c *workloads.Container) error {
		before := ""
		for ctx.Err() == nil {
			key, err := c.ReadFile("/tls/key.pem")
			if err != nil {
				return err
			}
			chain, err := c.ReadFile("/tls/chain.pem")
			if err != nil {
				return err
			}
			bundle, err := c.ReadFile("/tls/bundle.pem")
			if err != nil || string(bundle) != string(key)+string(chain) {
				return fmt.Errorf("the bundle is %q: %w", bundle, err)
			}
			pair, err := tls.X509KeyPair(bundle, bundle)
			if err != nil {
				return err
			}
			if string(key) != before {
				serials = append(serials, pair.Leaf.SerialNumber.String())
				before = string(key)
			}
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Second):
			}
		}
		return nil
	}))
}

// TestAPodWaitsForItsCertificate proves what a Pod shows until its certificate is there, or if there will be none.
func TestAPodWaitsForItsCertificate(t *testing.T) {
	for _, test := range []struct{ name, condition, failure, event string }{
		{"denied", "Denied", `PodCertificateRequest was permanently denied: reason="Why" message="Because."`,
			`Why%!(EXTRA string=PodCertificateRequest default/NAME was denied, reason="Why", message="Because.")`},
		{"failed", "Failed", `PodCertificateRequest was permanently failed: reason="Why" message="Because."`,
			`Why%!(EXTRA string=PodCertificateRequest default/NAME failed, reason="Why", message="Because.")`},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(w world) {
				s := newSigner(w)
				w.post(podWithCertificate)
				w.pass(time.Second)
				const prefix = `MountVolume.SetUp failed for volume "tls" : `
				if got, want := s.events("FailedMount"), []string{prefix + "credential bundle is not issued yet"}; !slices.Equal(got, want) {
					t.Errorf("while there is no answer, %v; want %v", got, want)
				}
				request := s.requests()[0]
				s.answer(&request, test.condition)
				w.pass(time.Minute)
				if got, want := s.events("FailedMount"), []string{prefix + "credential bundle is not issued yet", prefix + test.failure}; !slices.Equal(got, want) {
					t.Errorf("after the answer, %v; want %v", got, want)
				}
				if got, want := s.events(test.condition), []string{strings.Replace(test.event, "NAME", request.Name, 1)}; !slices.Equal(got, want) {
					t.Errorf("the Event is %v; want %v", got, want)
				}
				w.pass(time.Hour)
				if n := len(s.requests()); n != 0 {
					t.Errorf("there are %d more requests, want none", n)
				}
				if phase := field(w.object("pods", "web"), "status.phase"); phase != "Pending" {
					t.Errorf("the Pod is %s", phase)
				}
			}, workloads.Nodes(1)) // also without a function
		})
	}
}

// TestACertificateThatIsNotRenewed proves that a request that is deleted is followed by another one, and the Events about old certificates.
func TestACertificateThatIsNotRenewed(t *testing.T) {
	inBubble(t, func(w world) {
		s := newSigner(w)
		w.post(podWithCertificate)
		w.pass(time.Second)
		first := s.requests()[0].Name
		if err := w.client.CertificatesV1().PodCertificateRequests("default").Delete(w.Context(), first, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.pass(10*time.Minute - 2*time.Second)
		if n := len(s.requests()); n != 0 {
			t.Errorf("there are %d requests within ten minutes of one that was deleted", n)
		}
		w.pass(5 * time.Minute)
		if n := len(s.requests()); n != 1 {
			t.Fatalf("there are %d requests a quarter of an hour after one that was deleted, want 1", n)
		}
		s.issue(time.Hour)
		w.pass(3 * time.Minute)
		if phase := field(w.object("pods", "web"), "status.phase"); phase != "Running" {
			t.Errorf("the Pod is %s", phase)
		}
		w.pass(46 * time.Minute) // 40 to refresh, five of jitter
		if n := len(s.requests()); n != 1 {
			t.Errorf("there are %d requests for another certificate, want 1", n)
		}
		if got := append(s.events("CertificateOverdueForRefresh"), s.events("CertificateExpired")...); len(got) != 0 {
			t.Errorf("too early: %v", got)
		}
		w.pass(time.Hour)
		for _, reason := range []string{"CertificateOverdueForRefresh", "CertificateExpired"} {
			want := []string{map[string]string{"CertificateOverdueForRefresh": "PodCertificate refresh overdue", "CertificateExpired": "PodCertificate expired"}[reason]}
			if got := s.events(reason); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", reason, got, want)
			}
		}
	}, workloads.Nodes(1))
}

// TestEachTypeOfKey proves that the keys of certificates are of the type that the Pod asks for.
func TestEachTypeOfKey(t *testing.T) {
	for keyType, want := range map[string]string{
		"RSA3072": "RSA 384", "ECDSAP256": "ECDSA P-256", "ECDSAP384": "ECDSA P-384", "ECDSAP521": "ECDSA P-521", "ED25519": "Ed25519",
	} {
		t.Run(keyType, func(t *testing.T) {
			inBubble(t, func(w world) {
				w.post(strings.Replace(podWithCertificate, "ECDSAP256", keyType, 1))
				w.pass(time.Second)
				proof, err := x509.ParseCertificateRequest(newSigner(w).requests()[0].Spec.StubPKCS10Request)
				if err != nil {
					t.Fatal(err)
				}
				if err := proof.CheckSignature(); err != nil {
					t.Error(err)
				}
				if got := describeKey(proof.PublicKey); got != want {
					t.Errorf("the key is %s, want %s", got, want)
				}
			}, workloads.Nodes(1))
		})
	}
}

func describeKey(key any) string {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA %d", key.Size())
	case *ecdsa.PublicKey:
		return "ECDSA " + key.Params().Name
	case ed25519.PublicKey:
		return "Ed25519"
	}
	return fmt.Sprintf("%T", key)
}

// TestAForkStartsAFunctionWithANewCertificate proves that a function does not start without the files of its volume, and that an Event says what
// it waits for: the key is not in the state of the cluster.
func TestAForkStartsAFunctionWithANewCertificate(t *testing.T) {
	var keys []string
	living := []workloads.Option{workloads.Nodes(1), workloads.Image("app", func(ctx context.Context, c *workloads.Container) error {
		key, err := c.ReadFile("/tls/key.pem")
		if err != nil {
			return err
		}
		keys = append(keys, string(key))
		<-ctx.Done()
		return nil
	})}
	inBubble(t, func(w world) {
		w.post(podWithCertificate)
		w.pass(0)
		newSigner(w).issue(2 * time.Hour)
		w.pass(3 * time.Second)
		f := alive(w.T, w.cluster.Fork(w.T), living...)
		s := newSigner(f)
		f.pass(5 * time.Second)
		if len(keys) != 1 {
			t.Fatalf("the function has started %d times before there is a certificate in the fork, want 1: in the origin", len(keys))
		}
		if got, want := s.events("FailedMount"), []string{`MountVolume.SetUp failed for volume "tls" : credential bundle is not issued yet`}; !slices.Equal(got, want) {
			t.Errorf("the Events are %q, want %q", got, want)
		}
		s.issue(2 * time.Hour)
		f.pass(2 * time.Second)
		if len(keys) != 2 || keys[0] == keys[1] {
			t.Errorf("the function has started with %d keys, want a second one", len(keys))
		}
		if got := field(f.object("pods", "web"), "status.phase"); got != "Running" {
			t.Errorf("the Pod is %s", got)
		}
	}, living...)
}
