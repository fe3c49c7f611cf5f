package ginkgo

import (
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// A bubble needs a *testing.T, which Ginkgo does not have: it is a Go test beside the suite, with the same setup and matchers.
func TestNobodyGreetsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		c := fakecluster.Start(t, fakecluster.InProcess())
		cl := controllerruntime.Run(t, c, setup).GetClient()
		g.Expect(cl.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}})).To(Succeed())
		time.Sleep(time.Second) // takes no time
		greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "greeting"}}
		g.Expect(cl.Get(t.Context(), client.ObjectKeyFromObject(greeting), greeting)).To(Succeed())
		before := greeting.ResourceVersion
		time.Sleep(24 * time.Hour) // takes none either, where Consistently would need a day
		g.Expect(cl.Get(t.Context(), client.ObjectKeyFromObject(greeting), greeting)).To(Succeed())
		g.Expect(greeting.ResourceVersion).To(Equal(before))
	})
}
