package ginkgo

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/fakecluster"
)

var _ = Describe("the greeter", func() {
	var cl client.Client
	var c *fakecluster.Cluster

	BeforeEach(func() {
		c = base.Fork(GinkgoTB()) // ends with the spec
		cl = controllerruntime.Run(GinkgoTB(), c, setup).GetClient()
	})

	It("greets each namespace", func(ctx SpecContext) {
		Expect(cl.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}})).To(Succeed())
		greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "greeting"}}
		Eventually(ctx, func(g Gomega) {
			g.Expect(cl.Get(ctx, client.ObjectKeyFromObject(greeting), greeting)).To(Succeed())
			g.Expect(greeting.Data).To(HaveKeyWithValue("text", "hello team"))
		}).Should(Succeed())
	})

	It("begins with an empty cluster", func(ctx SpecContext) {
		Expect(cl.Get(ctx, client.ObjectKey{Name: "team"}, &corev1.Namespace{})).To(Satisfy(apierrors.IsNotFound))
		// WaitFor waits for a change without polling.
		c.WaitFor(GinkgoTB(), fakecluster.Named("v1", "ConfigMap", "default", "greeting"), fakecluster.CEL("object.data.text == 'hello default'"))
	})
})
