package website_test

// The tests of this file install the operator from its manifests: its Deployment with two replicas, its ServiceAccount and
// roles, and its webhooks behind a Service. Its containers run the function that main calls in production.

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fakecluster/fakecluster/controllerruntime/pod"
	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// installation is a cluster in which the operator is installed.
type installation struct {
	client.Client
	*workloads.Workloads
	cluster *fakecluster.Cluster
	hosts   *registry
}

// install installs the operator, without waiting for its pods. change changes its Deployment before that.
func install(t *testing.T, change func(*appsv1.Deployment)) *installation {
	t.Helper()
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithScheme(scheme),
		fakecluster.WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "system"}}),
		fakecluster.WithManifests("config/crd", "config/rbac", "config/webhook", "config/manager"))
	i := &installation{Client: newClient(t, c), cluster: c, hosts: &registry{}}
	i.certify(t)
	if change != nil {
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "website-operator"}}
		must(t, i.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment))
		change(deployment)
		must(t, i.Update(t.Context(), deployment))
	}
	i.Workloads = workloads.Run(t, c, workloads.Nodes(2),
		workloads.Image("registry.example.com/website-operator", func(ctx context.Context, p *workloads.Container) error {
			if strings.HasSuffix(p.Image, ":2.0") { // this version starts slowly
				select {
				case <-time.After(10 * time.Second):
				case <-ctx.Done():
				}
			}
			return website.Operator{Registry: i.hosts}.Run(ctx, p.Args, func(options ctrl.Options) (ctrl.Manager, error) {
				return pod.NewManager(p, options)
			})
		}))
	return i
}

// certify does what cert-manager does in production: a Secret has the certificate of the webhooks, and their configurations
// its authority.
func (i *installation) certify(t *testing.T) {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey("webhook-service.system.svc", nil, nil)
	must(t, err)
	must(t, i.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "webhook-certificates"},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{"tls.crt": cert, "tls.key": key},
	}))
	mutating, validating := &admissionv1.MutatingWebhookConfigurationList{}, &admissionv1.ValidatingWebhookConfigurationList{}
	must(t, i.List(t.Context(), mutating))
	must(t, i.List(t.Context(), validating))
	mutating.Items[0].Webhooks[0].ClientConfig.CABundle = cert
	validating.Items[0].Webhooks[0].ClientConfig.CABundle = cert
	must(t, i.Update(t.Context(), &mutating.Items[0]))
	must(t, i.Update(t.Context(), &validating.Items[0]))
}

// ready waits until the operator is ready: all of its replicas, of their newest version.
func (i *installation) ready(t *testing.T) {
	t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "website-operator"}}
	i.cluster.WaitFor(t, deployment, fakecluster.CEL(`object.status.observedGeneration == object.metadata.generation &&
		object.status.replicas == 2 && object.status.updatedReplicas == 2 && object.status.availableReplicas == 2`))
}

// leader returns the pod that leads, and how often another one led before.
func (i *installation) leader(t *testing.T) (name string, transitions int32) {
	t.Helper()
	lease := &coordinationv1.Lease{}
	must(t, i.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: "website-operator"}, lease))
	name, _, _ = strings.Cut(*lease.Spec.HolderIdentity, "_")
	return name, *lease.Spec.LeaseTransitions
}

// log returns the log of a pod of the operator.
func (i *installation) log(t *testing.T, name string) string {
	t.Helper()
	stream, err := i.cluster.Clientset().CoreV1().Pods("system").GetLogs(name, &corev1.PodLogOptions{}).Stream(t.Context())
	must(t, err)
	text, err := io.ReadAll(stream)
	must(t, err)
	return string(text)
}

// TestTheOperatorRunsFromItsManifests: the API server reaches the webhooks through their Service, the pods of a Website
// run, and the roles are what the operator needs.
func TestTheOperatorRunsFromItsManifests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := install(t, nil)
		i.ready(t)

		broken := newSite()
		broken.Spec.Page = "{{.Host"
		if err := i.Create(t.Context(), broken); err == nil || !strings.Contains(err.Error(), `admission webhook "validate.websites.example.com" denied the request`) {
			t.Errorf("the answer to a page that is not a template: %v", err)
		}
		site := newSite()
		must(t, i.Create(t.Context(), site))
		equal(t, "the image, by the webhook", site.Spec.Image, image)
		i.cluster.WaitFor(t, site, fakecluster.HasCondition(website.Available))
		must(t, i.Delete(t.Context(), site))
		i.cluster.WaitFor(t, site, fakecluster.Gone())
		i.cluster.CheckRole(t, "system:serviceaccount:system:website-operator", "config/rbac", "config/manager")
		i.cluster.CheckUnusedRules(t, "system:serviceaccount:system:website-operator", "config/rbac", "config/manager")
	})
}

// TestTheOtherReplicaTakesOver: the leader's pod is deleted by force, so it does not give the lease back. Once that has
// expired the other replica leads, and does what has been missed.
func TestTheOtherReplicaTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := install(t, nil)
		i.ready(t)
		first, _ := i.leader(t)

		killed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: first}}
		must(t, i.Delete(t.Context(), killed, client.GracePeriodSeconds(0)))
		time.Sleep(time.Second)
		site := newSite()
		must(t, i.Create(t.Context(), site)) // the other replica serves the webhooks
		time.Sleep(9 * time.Second)
		equal(t, "the hosts while nobody leads", i.hosts.count(), 0)

		i.cluster.WaitFor(t, site, fakecluster.HasCondition(website.Registered))
		second, transitions := i.leader(t)
		equal(t, "the leader is another pod", second != first, true)
		equal(t, "transitions", transitions, 1)
		equal(t, "the hosts that are registered", i.hosts.count(), 1)
	})
}

// TestARollingUpdate: Websites are created while the operator is updated to a version that takes ten seconds to start. With its
// readiness probe no request fails for lack of a webhook. All Websites that are created are registered, by whichever pod leads.
func TestARollingUpdate(t *testing.T) {
	// Each of the two webhooks is called at a pod that is chosen at random, so either of them may be the one that fails.
	failed := regexp.MustCompile(`^Internal error occurred: failed calling webhook "(default|validate)\.websites\.example\.com": failed to call webhook: ` +
		`Post "https://webhook-service\.system\.svc:443/(mutate|validate)-example-com-v1-website\?timeout=10s": ` +
		`dial tcp 10\.0\.0\.\d+:443: connect: connection refused$`)
	for _, test := range []struct {
		name  string
		probe bool
	}{
		{"with a readiness probe no request fails", true},
		{"without one requests fail", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := install(t, func(d *appsv1.Deployment) {
					if !test.probe {
						d.Spec.Template.Spec.Containers[0].ReadinessProbe = nil
					}
				})
				i.ready(t)
				created, errs := i.updateUnderLoad(t)
				equal(t, "every request succeeds", len(errs) == 0, test.probe)
				for _, err := range errs {
					if !failed.MatchString(err) {
						t.Errorf("the error of a request is %q, want a match of %s", err, failed)
					}
				}
				time.Sleep(time.Minute) // the new leader catches up
				equal(t, "the hosts that are registered", i.hosts.count(), created)
			})
		})
	}
}

// updateUnderLoad updates the operator, and creates a Website every three seconds until its old pods are gone. It returns how many were created,
// and the errors.
func (i *installation) updateUnderLoad(t *testing.T) (created int, errs []string) {
	t.Helper()
	deployment := &appsv1.Deployment{}
	must(t, i.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: "website-operator"}, deployment))
	deployment.Spec.Template.Spec.Containers[0].Image = "registry.example.com/website-operator:2.0"
	must(t, i.Update(t.Context(), deployment))
	for n := range 12 {
		site := newSite()
		site.Name, site.Spec.Host, site.Spec.Replicas = fmt.Sprintf("site-%d", n), fmt.Sprintf("www-%d.example.com", n), 1
		if err := i.Create(t.Context(), site); err != nil {
			errs = append(errs, err.Error())
		} else {
			created++
		}
		time.Sleep(3 * time.Second)
	}
	pods := &corev1.PodList{}
	must(t, i.List(t.Context(), pods, client.InNamespace("system")))
	for _, p := range pods.Items {
		equal(t, "the image of "+p.Name, p.Spec.Containers[0].Image, "registry.example.com/website-operator:2.0")
	}
	return created, errs
}

// TestAMissingRuleIsInTheLog: without the rule for Services, the log of the leader says which request is refused, and that of
// the test which rule is missing.
func TestAMissingRuleIsInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := install(t, nil)
		role := &rbacv1.ClusterRole{}
		must(t, i.Get(t.Context(), client.ObjectKey{Name: "website-operator"}, role))
		for n := range role.Rules {
			if role.Rules[n].Resources[0] == "configmaps" {
				role.Rules[n].Resources = []string{"configmaps"}
			}
		}
		must(t, i.Update(t.Context(), role))
		i.ready(t)
		time.Sleep(time.Second)

		leader, _ := i.leader(t)
		const refused = `services is forbidden: User \"system:serviceaccount:system:website-operator\" cannot list resource \"services\" in API group \"\" at the cluster scope`
		if log := i.log(t, leader); !strings.Contains(log, refused) {
			t.Errorf("the log of %s: %s", leader, log)
		}
		const lacks = `the roles of system:serviceaccount:system:website-operator lack: {APIGroups:[""], Resources:["services"], Verbs:["list" "watch"]}`
		if findings := i.cluster.Findings().String(); !strings.Contains(findings, lacks) {
			t.Errorf("what the log of a failed test says: %s", findings)
		}
	})
}
