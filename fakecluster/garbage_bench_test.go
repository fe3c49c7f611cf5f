package fakecluster_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// BenchmarkGarbage is the delete of an owner with its dependents. What a dependent
// costs must not depend on how many there are.
func BenchmarkGarbage(b *testing.B) {
	for _, policy := range []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	} {
		for _, dependents := range []int{0, 100, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", policy, dependents), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					c := defined(b, fakecluster.InProcess())
					owner := create(b, inDefault(c), cronTab("owner"))
					for i := range dependents {
						create(b, inDefault(c), ownedBy(cronTab(fmt.Sprintf("dependent-%d", i)), owner))
					}
					b.StartTimer()
					must(b, inDefault(c).Delete(b.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &policy}))
					b.StopTimer()
					must(b, c.Close())
					b.StartTimer()
				}
				if dependents > 0 {
					b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*dependents), "µs/dependent")
				}
			})
		}
	}
}

// ownedBy has an object name its owners, whose deletion it blocks.
func ownedBy(u *unstructured.Unstructured, owners ...*unstructured.Unstructured) *unstructured.Unstructured {
	var references []metav1.OwnerReference
	for _, owner := range owners {
		yes := true
		references = append(references, metav1.OwnerReference{
			APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), BlockOwnerDeletion: &yes,
		})
	}
	u.SetOwnerReferences(references)
	return u
}
