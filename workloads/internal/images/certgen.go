package images

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"time"

	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/workloads/internal/container"
)

// Images returns the built-in images.
func Images() []container.Image {
	var images []container.Image
	for _, repository := range []string{"kube-webhook-certgen", "*/kube-webhook-certgen", "*/*/kube-webhook-certgen", "*/*/*/kube-webhook-certgen"} {
		images = append(images, container.Image{Name: repository, Run: certgen})
	}
	return images
}

// certgenFlags are the flags of kube-webhook-certgen.
type certgenFlags struct {
	namespace, secret     string
	hosts                 []string
	certificate, key      string
	webhook, apiService   string
	mutating, validating  bool
	failurePolicy         string
	level, format, config string
}

// certgen runs "kube-webhook-certgen create", which creates a Secret with a certificate unless it exists, and "patch",
// which writes its authority into the configurations of webhooks and an APIService.
func certgen(ctx context.Context, c *container.Container) error {
	f := certgenFlags{}
	flags := pflag.NewFlagSet("kube-webhook-certgen", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&f.namespace, "namespace", "", "")
	flags.StringVar(&f.secret, "secret-name", "", "")
	flags.StringSliceVar(&f.hosts, "host", nil, "")
	flags.StringVar(&f.certificate, "cert-name", "cert", "")
	flags.StringVar(&f.key, "key-name", "key", "")
	flags.StringVar(&f.webhook, "webhook-name", "", "")
	flags.StringVar(&f.apiService, "apiservice-name", "", "")
	flags.BoolVar(&f.mutating, "patch-mutating", true, "")
	flags.BoolVar(&f.validating, "patch-validating", true, "")
	flags.StringVar(&f.failurePolicy, "patch-failure-policy", "", "")
	flags.StringVar(&f.level, "log-level", "info", "")
	flags.StringVar(&f.format, "log-format", "json", "")
	flags.StringVar(&f.config, "kubeconfig", "", "")
	args := c.Args
	if len(c.Command) > 1 {
		args = slices.Concat(c.Command[1:], args)
	}
	if err := flags.Parse(args); err != nil {
		return usageError(err.Error())
	}
	if f.config != "" {
		return usageError("fakecluster's kube-webhook-certgen acts as the ServiceAccount of its Pod and does not have --kubeconfig")
	}
	for _, needed := range []struct{ flag, value string }{{"secret-name", f.secret}, {"namespace", f.namespace}} {
		if needed.value == "" {
			return usageError(fmt.Sprintf("required flag(s) %q not set", needed.flag))
		}
	}
	config, err := c.RESTConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	switch command := flags.Arg(0); command {
	case "create":
		return f.create(ctx, c, client)
	case "patch":
		return f.patch(ctx, c, client)
	default:
		return usageError(fmt.Sprintf("unknown command %q for \"kube-webhook-certgen\"", command))
	}
}

// usageError is an error in the arguments, with the program's text.
type usageError string

func (e usageError) Error() string { return "Error: " + string(e) }

// log writes a line as the program does.
func log(c *container.Container, format string, args ...any) {
	line, _ := json.Marshal(struct {
		Level   string `json:"level"`
		Message string `json:"msg"`
		Time    string `json:"time"`
	}{"info", fmt.Sprintf(format, args...), time.Now().UTC().Format(time.RFC3339)})
	fmt.Fprintf(c.Stdout, "%s\n", line)
}

// authority returns the authority in the Secret; nil: there is no Secret.
func (f *certgenFlags) authority(ctx context.Context, client kubernetes.Interface) ([]byte, error) {
	secret, err := client.CoreV1().Secrets(f.namespace).Get(ctx, f.secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("error getting secret: %w", err)
	}
	ca, ok := secret.Data["ca"]
	if !ok {
		return nil, errors.New("got secret, but it did not contain a 'ca' key")
	}
	return ca, nil
}

// create creates the Secret.
func (f *certgenFlags) create(ctx context.Context, c *container.Container, client kubernetes.Interface) error {
	if len(f.hosts) == 0 {
		return usageError(`required flag(s) "host" not set`)
	}
	switch ca, err := f.authority(ctx, client); {
	case err != nil:
		return err
	case ca != nil:
		log(c, "secret already exists")
		return nil
	}
	log(c, "creating new secret")
	ca, certificate, key, err := newCertificates(f.hosts)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Secrets(f.namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: f.secret},
		Data:       map[string][]byte{"ca": ca, f.certificate: certificate, f.key: key},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("failed creating secret: %w", err)
	}
	return nil
}

// patch writes the authority into the webhook configurations and the APIService.
func (f *certgenFlags) patch(ctx context.Context, c *container.Container, client kubernetes.Interface) error {
	policy := admissionregistrationv1.FailurePolicyType(f.failurePolicy)
	switch {
	case policy != "" && policy != admissionregistrationv1.Ignore && policy != admissionregistrationv1.Fail:
		return fmt.Errorf("patch-failure-policy %s is not valid", f.failurePolicy)
	case f.webhook == "" && f.apiService == "":
		return errors.New("webhook-name or apiservice-name must be set")
	}
	ca, err := f.authority(ctx, client)
	if err == nil && ca == nil {
		err = fmt.Errorf("no secret with '%s' in '%s'", f.secret, f.namespace)
	}
	if err != nil {
		return err
	}
	set := func(bundle *[]byte, to **admissionregistrationv1.FailurePolicyType) {
		if *bundle = ca; policy != "" {
			*to = &policy
		}
	}
	registrations := client.AdmissionregistrationV1()
	if f.webhook != "" && f.validating {
		found, err := registrations.ValidatingWebhookConfigurations().Get(ctx, f.webhook, metav1.GetOptions{})
		if err == nil {
			for i := range found.Webhooks {
				set(&found.Webhooks[i].ClientConfig.CABundle, &found.Webhooks[i].FailurePolicy)
			}
			_, err = registrations.ValidatingWebhookConfigurations().Update(ctx, found, metav1.UpdateOptions{})
		}
		if err != nil {
			return fmt.Errorf("failed patching validating webhook: %w", err)
		}
		log(c, "patched validating webhook configuration %s", f.webhook)
	}
	if f.webhook != "" && f.mutating {
		found, err := registrations.MutatingWebhookConfigurations().Get(ctx, f.webhook, metav1.GetOptions{})
		if err == nil {
			for i := range found.Webhooks {
				set(&found.Webhooks[i].ClientConfig.CABundle, &found.Webhooks[i].FailurePolicy)
			}
			_, err = registrations.MutatingWebhookConfigurations().Update(ctx, found, metav1.UpdateOptions{})
		}
		if err != nil {
			return fmt.Errorf("failed patching mutating webhook: %w", err)
		}
		log(c, "patched mutating webhook configuration %s", f.webhook)
	}
	if f.apiService != "" {
		if err := patchAPIService(ctx, client.CoreV1().RESTClient(), f.apiService, ca); err != nil {
			return fmt.Errorf("failed patching APIService: %w", err)
		}
		log(c, "patched APIService %s", f.apiService)
	}
	return nil
}

// patchAPIService writes an authority into an APIService. It does without a clientset, which would be linked only for
// this.
func patchAPIService(ctx context.Context, client rest.Interface, name string, ca []byte) error {
	path := "/apis/apiregistration.k8s.io/v1/apiservices/" + name
	found := client.Get().AbsPath(path).Do(ctx)
	if err := found.Error(); err != nil { // Raw does not return the server's Status
		return err
	}
	data, err := found.Raw()
	if err != nil {
		return err
	}
	object := map[string]any{}
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	spec, _ := object["spec"].(map[string]any)
	if spec == nil {
		return errors.New("it has no spec")
	}
	spec["caBundle"] = ca
	delete(spec, "insecureSkipTLSVerify")
	if data, err = json.Marshal(object); err != nil {
		return err
	}
	return client.Put().AbsPath(path).SetHeader("Content-Type", "application/json").Body(data).Do(ctx).Error()
}

// lifetime is the lifetime of the certificates: a century, as of the real program.
const lifetime = 100 * 365 * 24 * time.Hour

// newCertificates returns an authority, and a certificate for hosts that it has signed with the key, as PEM.
func newCertificates(hosts []string) (ca, certificate, key []byte, err error) {
	now := time.Now()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{Organization: []string{"nil1"}}, NotBefore: now.Add(-5 * time.Minute), NotAfter: now.Add(lifetime),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{Organization: []string{"nil2"}}, DNSNames: hosts, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	signedRoot, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	if err != nil {
		return nil, nil, nil, err
	}
	signedLeaf, err := x509.CreateCertificate(rand.Reader, leaf, root, leafKey.Public(), rootKey)
	if err != nil {
		return nil, nil, nil, err
	}
	encoded, err := x509.MarshalECPrivateKey(leafKey)
	if err != nil {
		return nil, nil, nil, err
	}
	block := func(kind string, data []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}) }
	return block("CERTIFICATE", signedRoot), block("CERTIFICATE", signedLeaf), block("EC PRIVATE KEY", encoded), nil
}
