package suiteinbubble

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fakecluster/fakecluster/remote"
)

var cfg *rest.Config

func TestControllers(t *testing.T) {
	RegisterFailHandler(Fail)
	defer func() {
		// A goroutine of Ginkgo waits for signals and never ends, so the bubble ends with this panic.
		if r := recover(); r != nil && !strings.HasPrefix(fmt.Sprint(r), "deadlock: main bubble goroutine has exited") {
			panic(r)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		c := remote.Start(t)
		cfg = &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}
		suite, reporter := GinkgoConfiguration()
		suite.Timeout = 7 * 24 * time.Hour // by the clock of the bubble; Ginkgo's own is an hour
		RunSpecs(t, "Controllers", suite, reporter)
	})
}

var cl client.Client

var _ = BeforeSuite(func() {
	existing := true
	environment := &envtest.Environment{UseExistingCluster: &existing, Config: cfg}
	_, err := environment.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(environment.Stop)

	mgr, err := ctrl.NewManager(cfg, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}}) // sockets do not count as waiting
	Expect(err).NotTo(HaveOccurred())
	Expect(ctrl.NewControllerManagedBy(mgr).For(&corev1.Namespace{}).Complete(&greeter{mgr.GetClient()})).To(Succeed())
	cl = mgr.GetClient()
	ctx, cancel := context.WithCancel(context.Background())
	DeferCleanup(cancel)
	go func() {
		defer GinkgoRecover()
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
})

var _ = Describe("the greeter", func() {
	It("does not greet again for two hours", func(ctx SpecContext) {
		Expect(cl.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}})).To(Succeed())
		greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "greeting"}}
		Eventually(ctx, func(g Gomega) {
			g.Expect(cl.Get(ctx, client.ObjectKeyFromObject(greeting), greeting)).To(Succeed())
		}).Should(Succeed())
		before := greeting.ResourceVersion
		Consistently(ctx, func(g Gomega) {
			g.Expect(cl.Get(ctx, client.ObjectKeyFromObject(greeting), greeting)).To(Succeed())
			g.Expect(greeting.ResourceVersion).To(Equal(before))
		}, 2*time.Hour, 10*time.Minute).Should(Succeed())
	})
})

// greeter keeps a ConfigMap in each Namespace.
type greeter struct{ client.Client }

func (g *greeter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: req.Name, Name: "greeting"}}
	_, err := controllerutil.CreateOrUpdate(ctx, g.Client, greeting, func() error {
		greeting.Data = map[string]string{"text": "hello " + req.Name}
		return nil
	})
	return ctrl.Result{}, err
}
