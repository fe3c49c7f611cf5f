package project

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

var (
	ctx       context.Context
	cancel    context.CancelFunc
	testEnv   *envtest.Environment
	k8sClient client.Client
	managed   = make(chan error, 1)
)

func TestProject(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Project Suite")
}

var _ = BeforeSuite(func() {
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	ctx, cancel = context.WithCancel(context.Background())
	testEnv = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("config", "crd")},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{filepath.Join("config", "webhook")}},
	}
	cfg, err := testEnv.Start()
	Expect(err).NotTo(HaveOccurred())
	Expect(AddToScheme(scheme.Scheme)).To(Succeed())
	k8sClient, err = client.New(cfg, client.Options{Scheme: scheme.Scheme})
	Expect(err).NotTo(HaveOccurred())

	hooks := testEnv.WebhookInstallOptions
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:         scheme.Scheme,
		Metrics:        server.Options{BindAddress: "0"},
		LeaderElection: false,
		WebhookServer:  webhook.NewServer(webhook.Options{Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir}),
	})
	Expect(err).NotTo(HaveOccurred())
	Expect((&Reconciler{mgr.GetClient()}).SetupWithManager(mgr)).To(Succeed())
	go func() { managed <- mgr.Start(ctx) }()
	Eventually(func() error {
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Second}, "tcp", fmt.Sprintf("%s:%d", hooks.LocalServingHost, hooks.LocalServingPort), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return err
		}
		return conn.Close()
	}).Should(Succeed())
})

var _ = AfterSuite(func() {
	cancel()
	Expect(<-managed).To(Succeed())
	Expect(testEnv.Stop()).To(Succeed())
})

// guestbook makes one with a title.
func guestbook(name string) *Guestbook {
	return &Guestbook{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: GuestbookSpec{Title: "Inn"}}
}

var _ = Describe("Guestbook", func() {
	It("is defaulted by the mutating webhook", func() {
		book := guestbook("defaulted")
		Expect(k8sClient.Create(ctx, book)).To(Succeed())
		Expect(book.Spec.Pages).To(Equal(int32(3)))
	})
	It("is refused by the validating webhook", func() {
		book := guestbook("untitled")
		book.Spec.Title = ""
		err := k8sClient.Create(ctx, book)
		Expect(err).To(MatchError(`admission webhook "vguestbook-v1.kb.io" denied the request: a guestbook needs a title`))
	})
	It("is refused by the schema", func() {
		book := guestbook("long")
		book.Spec.Pages = 101
		err := k8sClient.Create(ctx, book)
		Expect(apierrors.IsInvalid(err)).To(BeTrue())
		Expect(err).To(MatchError(ContainSubstring("spec.pages: Invalid value: 101: spec.pages in body should be less than or equal to 100")))
	})
	It("is printed", func() {
		book := guestbook("printed")
		Expect(k8sClient.Create(ctx, book)).To(Succeed())
		printed := &corev1.ConfigMap{}
		Eventually(func(g Gomega) {
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(book), printed)).To(Succeed())
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(book), book)).To(Succeed())
			g.Expect(book.Status.Printed).To(Equal(int32(3)))
		}, "10s", "10ms").Should(Succeed())
		Expect(printed.Data).To(Equal(map[string]string{"page-1": "Inn", "page-2": "Inn", "page-3": "Inn"}))
		Expect(metav1.IsControlledBy(printed, book)).To(BeTrue())
	})
	It("is printed again if the print is lost", func() {
		book := guestbook("lost")
		Expect(k8sClient.Create(ctx, book)).To(Succeed())
		printed := &corev1.ConfigMap{}
		get := func() error { return k8sClient.Get(ctx, client.ObjectKeyFromObject(book), printed) }
		Eventually(get, "10s", "10ms").Should(Succeed())
		first := printed.UID
		Expect(k8sClient.Delete(ctx, printed)).To(Succeed())
		Eventually(get, "10s", "10ms").Should(Succeed())
		Expect(printed.UID).NotTo(Equal(first))
	})
	It("is printed longer", func() {
		book := guestbook("longer")
		Expect(k8sClient.Create(ctx, book)).To(Succeed())
		Eventually(func() error {
			if err := k8sClient.Get(ctx, client.ObjectKeyFromObject(book), book); err != nil {
				return err
			}
			book.Spec.Pages = 5
			return k8sClient.Update(ctx, book)
		}, "10s", "10ms").Should(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(book), book)).To(Succeed())
			g.Expect(book.Status.Printed).To(Equal(int32(5)))
		}, "10s", "10ms").Should(Succeed())
	})
	It("leaves its print behind, because nobody collects garbage here", func() {
		book := guestbook("gone")
		Expect(k8sClient.Create(ctx, book)).To(Succeed())
		printed := &corev1.ConfigMap{}
		Eventually(func() error { return k8sClient.Get(ctx, client.ObjectKeyFromObject(book), printed) }, "10s", "10ms").Should(Succeed())
		Expect(k8sClient.Delete(ctx, book)).To(Succeed())
		Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(book), printed)).To(Succeed())
	})
})

var _ = Describe("A user", func() {
	// as is a client of a user of the environment.
	as := func(name string, groups ...string) client.Client {
		user, err := testEnv.AddUser(envtest.User{Name: name, Groups: groups}, &rest.Config{})
		Expect(err).NotTo(HaveOccurred())
		c, err := client.New(user.Config(), client.Options{Scheme: scheme.Scheme})
		Expect(err).NotTo(HaveOccurred())
		return c
	}
	It("may do nothing at first", func() {
		err := as("jane", "guests").Create(ctx, guestbook("jane"))
		Expect(err).To(MatchError(`guestbooks.example.com is forbidden: User "jane" cannot create resource "guestbooks" in API group "example.com" in the namespace "default"`))
	})
	It("may do what its group may do", func() {
		Expect(k8sClient.Create(ctx, &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: "writer"},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"example.com"}, Resources: []string{"guestbooks"}, Verbs: []string{"create"}}},
		})).To(Succeed())
		Expect(k8sClient.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "writers"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "writer"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "writers"}},
		})).To(Succeed())
		Eventually(func() error { return as("joe", "writers").Create(ctx, guestbook("joe")) }, "10s", "10ms").Should(Succeed())
	})
	It("may do everything as a member of system:masters", func() {
		Expect(as("root", "system:masters").Create(ctx, guestbook("root"))).To(Succeed())
	})
})
