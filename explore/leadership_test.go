package explore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/fakecluster/fakecluster/explore"
)

// elected returns a function that runs the operator as the leader of its instances, each with another identity.
func (o gadgetOperator) elected(lease time.Duration) func(ctx context.Context, config *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error { return o.lead(ctx, config, lease) }
}

func (o gadgetOperator) lead(ctx context.Context, config *rest.Config, lease time.Duration) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "gadgets"}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: time.Now().String()},
		},
		LeaseDuration: lease, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { ended <- o.run(ctx, config) },
			OnStoppedLeading: cancel,
		},
	})
	if err != nil {
		return err
	}
	elector.Run(ctx)
	select {
	case err := <-ended:
		return err
	default:
		return errors.New("the lease is lost")
	}
}

// numbered returns an operator that makes a ConfigMap with a generated name, unless the server has one. If there are more, it deletes all but the first.
func numbered(deletesMore bool) gadgetOperator {
	return gadgetOperator{before: func(ctx context.Context, client dynamic.Interface, gadget *unstructured.Unstructured) (skip bool, err error) {
		configMaps := client.Resource(configMapR).Namespace("default")
		list, err := configMaps.List(ctx, metav1.ListOptions{LabelSelector: "number=" + gadget.GetName()})
		if err != nil {
			return true, err
		}
		for i := range list.Items {
			if i == 0 || !deletesMore {
				continue
			}
			if err := configMaps.Delete(ctx, list.Items[i].GetName(), metav1.DeleteOptions{}); err != nil {
				return true, err
			}
		}
		if len(list.Items) > 0 {
			return false, nil
		}
		number := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		number.SetGenerateName(gadget.GetName() + "-")
		number.SetLabels(map[string]string{"number": gadget.GetName()})
		number.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Gadget", Name: gadget.GetName(), UID: gadget.GetUID()}})
		_, err = configMaps.Create(ctx, number, metav1.CreateOptions{})
		return false, err
	}}
}

// An operator loses its lease right before a write, which arrives when another instance has taken over. One that looks whether there is a ConfigMap, and
// makes one if not, makes two then.
func TestAnOperatorLosesItsLeaseWhileItWorks(t *testing.T) {
	const lost = "create | deposed operator create configmaps default/ 1"
	for name, tt := range map[string]struct {
		operator gadgetOperator
		lease    time.Duration
		finds    bool
	}{
		"correct":                       {operator: numbered(true), lease: 15 * time.Second},
		"makes a further":               {numbered(false), 15 * time.Second, true},
		"makes a further, a long lease": {numbered(false), 5 * time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "makes a further" {
				t.Skip("-short: exploration is slow, and does the same for the mistake")
			}
			s := tt.operator.subject()
			s.Run, s.Roles, s.MaxFindings, s.Trials = tt.operator.elected(tt.lease), nil, 1, 300
			if !tt.finds {
				s.Trials = 100 // nothing ends it earlier
			}
			found := findIn(t, s)
			if !tt.finds {
				for _, f := range found.Findings {
					t.Error(f.Report)
				}
				return
			}
			if len(found.Findings) != 1 {
				t.Fatal(found)
			}
			f := found.Findings[0]
			if want := "gadgets.example.com default/a: " + lost; f.Oracle != explore.Recovers || f.Trial != want {
				t.Errorf("oracle %s, trial %s, want %s", f.Oracle, f.Trial, want)
			}
			if want := "operator loses its lease right before the create of configmaps default/, which arrives when another instance has taken over"; !strings.Contains(f.Report, want) {
				t.Errorf("the report does not have %q:\n%s", want, f.Report)
			}
		})
	}
}
