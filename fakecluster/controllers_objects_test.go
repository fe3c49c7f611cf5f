package fakecluster_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// kept is a cluster in which controllers act, and a client for it.
func kept(t *testing.T, options ...fakecluster.Option) (*fakecluster.Cluster, kubernetes.Interface) {
	t.Helper()
	c := fakecluster.Start(t, append(options, fakecluster.InProcess())...)
	return c, clientOf(t, c.RESTConfig())
}

func made[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// The controllers act in the order of AllControllers, each as the real one's service account.
func TestControllersActInTheirOrderAndAsThemselves(t *testing.T) {
	c, k := kept(t, fakecluster.WithControllers(fakecluster.AllControllers()...), fakecluster.WithAudit(auditv1.LevelMetadata))
	before := len(c.Audit())
	made[*corev1.Namespace](t)(k.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{}))
	made[*corev1.Service](t)(k.CoreV1().Services("team").Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{}))
	var got []string
	for _, e := range c.Audit()[before:] {
		who := e.User.Username
		if account, ok := strings.CutPrefix(who, "system:serviceaccount:kube-system:"); ok {
			who = account
			equal(t, "agent", strings.HasSuffix(e.UserAgent, " kubernetes/unknown/"+e.User.Username), true)
		}
		got = append(got, fmt.Sprintf("%s: %s %s", who, e.Verb, e.ObjectRef.Resource))
	}
	equal(t, "requests", strings.Join(got, "\n"), strings.Join([]string{
		"service-account-controller: create serviceaccounts",
		"root-ca-cert-publisher: create configmaps",
		"kubernetes-admin: create namespaces",
		"system:apiserver: create ipaddresses",
		"endpoint-controller: create endpoints",
		"endpointslice-controller: create endpointslices",
		"kubernetes-admin: create services",
	}, "\n"))
}

// Controllers do not act on a dry run.
func TestControllersDoNotFollowADryRun(t *testing.T) {
	_, k := kept(t, fakecluster.WithControllers(fakecluster.AllControllers()...))
	before := made[*corev1.ServiceAccountList](t)(k.CoreV1().ServiceAccounts("").List(t.Context(), metav1.ListOptions{})).ResourceVersion
	made[*corev1.Namespace](t)(k.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{DryRun: []string{"All"}}))
	if err := k.CoreV1().ServiceAccounts("default").Delete(t.Context(), "default", metav1.DeleteOptions{DryRun: []string{"All"}}); err != nil {
		t.Fatal(err)
	}
	equal(t, "revision", made[*corev1.ServiceAccountList](t)(k.CoreV1().ServiceAccounts("").List(t.Context(), metav1.ListOptions{})).ResourceVersion, before)
}

// The same requests with the same seed give the same objects, also those that controllers make.
func TestControllersRepeatWithTheSeed(t *testing.T) {
	var all [2]string
	for i := range all {
		_, k := kept(t, fakecluster.WithSeed(7), fakecluster.WithControllers(fakecluster.AllControllers()...))
		made[*corev1.Node](t)(k.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{}))
		for n := range 130 { // more than a slice holds
			readyPod(t.Context(), t, k, fmt.Sprintf("pod-%03d", n), n)
		}
		service(t, k)
		for _, slice := range slicesOf(t, k) {
			all[i] += slice.Name + string(slice.UID)
			for _, e := range slice.Endpoints {
				all[i] += "\n" + e.Addresses[0]
			}
		}
		pod := made[*corev1.Pod](t)(k.CoreV1().Pods("default").Get(t.Context(), "pod-000", metav1.GetOptions{}))
		all[i] += "\n" + pod.Spec.Volumes[0].Name
	}
	equal(t, "slices and token volume", all[1], all[0])
	equal(t, "slices", strings.Count(all[0], "web-"), 2)
}

func service(t *testing.T, k kubernetes.Interface) {
	t.Helper()
	made[*corev1.Service](t)(k.CoreV1().Services("default").Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{}))
}

// readyPod makes a Pod on the Node n that is ready.
func readyPod(ctx context.Context, t testing.TB, k kubernetes.Interface, name string, number int) {
	pod, err := k.CoreV1().Pods("default").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Error(err)
		return
	}
	ip := fmt.Sprintf("10.1.%d.%d", number/250, number%250+1)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	if _, err := k.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
}

func slicesOf(t *testing.T, k kubernetes.Interface) []discoveryv1.EndpointSlice {
	t.Helper()
	return made[*discoveryv1.EndpointSliceList](t)(k.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=web"})).Items
}

// The last of the writers has seen the writes of all others.
func TestControllersConvergeAfterConcurrentWrites(t *testing.T) {
	_, k := kept(t, fakecluster.WithControllers(fakecluster.AllControllers()...))
	made[*corev1.Node](t)(k.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{}))
	made[*policyv1.PodDisruptionBudget](t)(k.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &intstr.IntOrString{IntVal: 1}, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}, metav1.CreateOptions{}))
	service(t, k)
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			for i := range 5 {
				name := fmt.Sprintf("pod-%d-%d", worker, i)
				readyPod(t.Context(), t, k, name, worker*10+i)
				if i%2 == 0 {
					if err := k.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	var pods, inEndpoints, inSlices []string
	for _, pod := range made[*corev1.PodList](t)(k.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})).Items {
		pods = append(pods, pod.Status.PodIP)
	}
	//lint:ignore SA1019 the controller is still there
	for _, s := range made[*corev1.Endpoints](t)(k.CoreV1().Endpoints("default").Get(t.Context(), "web", metav1.GetOptions{})).Subsets {
		for _, a := range s.Addresses {
			inEndpoints = append(inEndpoints, a.IP)
		}
	}
	all := slicesOf(t, k)
	for _, s := range all {
		for _, e := range s.Endpoints {
			inSlices = append(inSlices, e.Addresses[0])
		}
	}
	for _, list := range [][]string{pods, inEndpoints, inSlices} {
		slices.Sort(list)
	}
	equal(t, "pods", len(pods), 12)
	equal(t, "addresses in Endpoints", inEndpoints, pods)
	equal(t, "addresses in slices", inSlices, pods)
	equal(t, "slices", len(all), 1)
	budget := made[*policyv1.PodDisruptionBudget](t)(k.PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), "web", metav1.GetOptions{}))
	equal(t, "healthy", budget.Status.CurrentHealthy, int32(12))
	equal(t, "expected", budget.Status.ExpectedPods, int32(12))
}

// finished is a Job that has finished now and may be deleted a minute later.
func finished(t *testing.T, k kubernetes.Interface, name string) {
	t.Helper()
	minute := int32(60)
	job := made[*batchv1.Job](t)(k.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{
		TTLSecondsAfterFinished: &minute, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
	}}, metav1.CreateOptions{}))
	now := metav1.Now()
	job.Status = batchv1.JobStatus{StartTime: &now, CompletionTime: &now, Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now}, {Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now},
	}}
	made[*batchv1.Job](t)(k.BatchV1().Jobs("default").UpdateStatus(t.Context(), job, metav1.UpdateOptions{}))
}

func jobsIn(t *testing.T, k kubernetes.Interface) string {
	t.Helper()
	var left []string
	for _, job := range made[*batchv1.JobList](t)(k.BatchV1().Jobs("default").List(t.Context(), metav1.ListOptions{})).Items {
		left = append(left, job.Name)
	}
	return strings.Join(left, " ")
}

// later lets time pass, and then what is due by then end.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestAFinishedJobIsDeletedAfterItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := kept(t, fakecluster.WithControllers(fakecluster.TTLAfterFinished, fakecluster.GarbageCollector))
		finished(t, k, "a")
		finished(t, k, "b")
		f := clientOf(t, c.Fork(t).RESTConfig())
		later(59 * time.Second)
		equal(t, "a second before", jobsIn(t, k), "a b")
		job := made[*batchv1.Job](t)(k.BatchV1().Jobs("default").Get(t.Context(), "b", metav1.GetOptions{}))
		job.Spec.TTLSecondsAfterFinished = new(int32(120))
		made[*batchv1.Job](t)(k.BatchV1().Jobs("default").Update(t.Context(), job, metav1.UpdateOptions{}))
		later(time.Second)
		equal(t, "when the time is over of one", jobsIn(t, k), "b")
		equal(t, "in the fork", jobsIn(t, f), "")
		later(59 * time.Second)
		equal(t, "a second before the time that was set later", jobsIn(t, k), "b")
		later(time.Second)
		equal(t, "then", jobsIn(t, k), "")
	})
}

// By a clock of the test's own, the next write finds what is due.
func TestTheTTLOfAJobUsesTheClockOfTheCluster(t *testing.T) {
	var ahead atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	_, k := kept(t, fakecluster.WithClock(clock), fakecluster.WithControllers(fakecluster.TTLAfterFinished, fakecluster.GarbageCollector))
	finished(t, k, "a")
	for _, step := range []struct {
		ahead time.Duration
		left  string
	}{{50 * time.Second, "a"}, {time.Hour, ""}} {
		ahead.Store(int64(step.ahead))
		made[*corev1.ConfigMap](t)(k.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "any-"}}, metav1.CreateOptions{}))
		equal(t, "left", jobsIn(t, k), step.left)
	}
}

func TestNothingIsDueAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := kept(t, fakecluster.WithControllers(fakecluster.TTLAfterFinished))
		finished(t, k, "a")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		later(time.Hour)
	})
}

func TestOldCertificateSigningRequestsAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k := kept(t, fakecluster.WithControllers(fakecluster.CSRCleaner))
		requests := k.CertificatesV1().CertificateSigningRequests()
		key := made[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
		certificate := func(expires time.Duration) []byte {
			template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(expires)}
			der := made[[]byte](t)(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
			return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		}
		for name, status := range map[string]struct {
			is          certificatesv1.RequestConditionType
			certificate []byte
		}{
			"approved": {is: certificatesv1.CertificateApproved},
			"denied":   {is: certificatesv1.CertificateDenied},
			"expiring": {certificatesv1.CertificateApproved, certificate(10 * time.Minute)},
			"failed":   {is: certificatesv1.CertificateFailed},
			"issued":   {certificatesv1.CertificateApproved, certificate(time.Hour * 24 * 365)},
			"pending":  {},
		} {
			request := made[*certificatesv1.CertificateSigningRequest](t)(requests.Create(t.Context(), &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: certificatesv1.CertificateSigningRequestSpec{Request: signingRequest(t), SignerName: "example.com/signer", Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}}}, metav1.CreateOptions{}))
			if status.is == "" {
				continue
			}
			request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: status.is, Status: corev1.ConditionTrue}}
			if status.is == certificatesv1.CertificateFailed {
				request = made[*certificatesv1.CertificateSigningRequest](t)(requests.UpdateStatus(t.Context(), request, metav1.UpdateOptions{}))
			} else {
				request = made[*certificatesv1.CertificateSigningRequest](t)(requests.UpdateApproval(t.Context(), name, request, metav1.UpdateOptions{}))
			}
			if status.certificate != nil {
				request.Status.Certificate = status.certificate
				made[*certificatesv1.CertificateSigningRequest](t)(requests.UpdateStatus(t.Context(), request, metav1.UpdateOptions{}))
			}
		}
		for _, step := range []struct {
			after time.Duration
			left  string
		}{
			{10 * time.Minute, "approved denied expiring failed issued pending"},
			{time.Second, "approved denied failed issued pending"}, // the certificate has expired
			{50*time.Minute - time.Second, "approved denied failed issued pending"},
			{time.Second, "approved pending"}, // the decision is an hour old
			{23*time.Hour - time.Second, "approved pending"},
			{time.Second, ""}, // nothing has become of them in a day
		} {
			later(step.after)
			var left []string
			for _, r := range made[*certificatesv1.CertificateSigningRequestList](t)(requests.List(t.Context(), metav1.ListOptions{})).Items {
				left = append(left, r.Name)
			}
			equal(t, "left", strings.Join(left, " "), step.left)
		}
	})
}

// An eviction promises that the Pod will be deleted. If it is not deleted, the budget
// counts the Pod again after two minutes.
func TestABudgetReleasesADisruptedPodThatWasNotDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k := kept(t, fakecluster.WithControllers(fakecluster.DisruptionController))
		readyPod(t.Context(), t, k, "a", 1)
		budgets := k.PolicyV1().PodDisruptionBudgets("default")
		made[*policyv1.PodDisruptionBudget](t)(budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &intstr.IntOrString{}, Selector: &metav1.LabelSelector{}}}, metav1.CreateOptions{}))
		budget := made[*policyv1.PodDisruptionBudget](t)(budgets.Get(t.Context(), "web", metav1.GetOptions{}))
		equal(t, "healthy", budget.Status.CurrentHealthy, int32(1))
		budget.Status.DisruptedPods = map[string]metav1.Time{"a": metav1.Now(), "gone": metav1.Now()}
		made[*policyv1.PodDisruptionBudget](t)(budgets.UpdateStatus(t.Context(), budget, metav1.UpdateOptions{}))
		for _, step := range []struct {
			after     time.Duration
			healthy   int32
			disrupted int
		}{{0, 0, 1}, {119 * time.Second, 0, 1}, {2 * time.Second, 1, 0}} {
			later(step.after)
			budget = made[*policyv1.PodDisruptionBudget](t)(budgets.Get(t.Context(), "web", metav1.GetOptions{}))
			equal(t, "healthy", budget.Status.CurrentHealthy, step.healthy)
			equal(t, "disrupted", len(budget.Status.DisruptedPods), step.disrupted)
		}
	})
}

func TestAPodIsNoLongerATargetOfDisruptionIfItWasNotDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k := kept(t, fakecluster.WithControllers(fakecluster.DisruptionController))
		readyPod(t.Context(), t, k, "a", 1)
		pod := made[*corev1.Pod](t)(k.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{}))
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
		made[*corev1.Pod](t)(k.CoreV1().Pods("default").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}))
		for _, step := range []struct {
			after  time.Duration
			status corev1.ConditionStatus
		}{{119 * time.Second, corev1.ConditionTrue}, {time.Second, corev1.ConditionFalse}} {
			later(step.after)
			pod = made[*corev1.Pod](t)(k.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{}))
			equal(t, "condition", pod.Status.Conditions[1].Status, step.status)
		}
	})
}

// A controller outside of the cluster may create the account of a namespace a little later. Other accounts
// are not waited for.
func TestAPodWaitsForTheServiceAccountOfItsNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k := kept(t, fakecluster.WithAdmissionPlugins("ServiceAccount"))
		defer synctest.Wait() // for the answer about the account, which may come after the Pod's
		began := time.Now()
		time.AfterFunc(300*time.Millisecond, func() {
			for _, name := range []string{"default-2", "default"} {
				account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
				if _, err := k.CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
		of := func(name, account string) *corev1.Pod {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: corev1.PodSpec{ServiceAccountName: account, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		}
		_, err := k.CoreV1().Pods("default").Create(t.Context(), of("q", "robot"), metav1.CreateOptions{})
		fails(t, "another account", err, `pods "q" is forbidden: error looking up service account default/robot: serviceaccount "robot" not found`)
		equal(t, "time that has passed", time.Since(began), time.Duration(0))

		pod, err := k.CoreV1().Pods("default").Create(t.Context(), of("p", ""), metav1.CreateOptions{})
		equal(t, "error", err, nil)
		equal(t, "account", pod.Spec.ServiceAccountName, "default")
		equal(t, "time that has passed", time.Since(began), 300*time.Millisecond)
	})
}

// The plugin is on if its controller acts, unless an option overrides it.
func TestTheServiceAccountPluginIsTurnedOnAndOffByName(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []fakecluster.Option
		account string
		wait    time.Duration
		err     string
	}{
		{"by default it is off", nil, "", 0, ""},
		{"with the controller it is on", []fakecluster.Option{fakecluster.WithControllers(fakecluster.ServiceAccountController)}, "default", 0, ""},
		{"it can be turned off", []fakecluster.Option{fakecluster.WithControllers(fakecluster.ServiceAccountController), fakecluster.WithoutAdmissionPlugins("ServiceAccount")}, "", 0, ""},
		{"without the controller the account is missing, and is waited for", []fakecluster.Option{fakecluster.WithAdmissionPlugins("ServiceAccount")},
			"", time.Second, `pods "p" is forbidden: error looking up service account default/default: serviceaccount "default" not found`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, k := kept(t, c.options...)
				began := time.Now()
				pod, err := k.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, metav1.CreateOptions{})
				equal(t, "time that has passed", time.Since(began), c.wait)
				if c.err != "" {
					fails(t, "create", err, c.err)
					return
				}
				equal(t, "error", err, nil)
				equal(t, "account", pod.Spec.ServiceAccountName, c.account)
			})
		})
	}
}

// A fork that begins before a controller has done its work does it itself.
func TestAForkHasItsOwnControllers(t *testing.T) {
	c, k := kept(t, fakecluster.WithControllers(fakecluster.AllControllers()...))
	f := clientOf(t, c.Fork(t).RESTConfig())
	for _, one := range []kubernetes.Interface{k, f} {
		made[*corev1.Namespace](t)(one.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{}))
	}
	for _, one := range []kubernetes.Interface{k, f} {
		made[*corev1.ServiceAccount](t)(one.CoreV1().ServiceAccounts("team").Get(t.Context(), "default", metav1.GetOptions{}))
		if err := one.CoreV1().Namespaces().Delete(t.Context(), "team", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err := one.CoreV1().Namespaces().Get(t.Context(), "team", metav1.GetOptions{})
		equal(t, "the namespace is gone", apierrors.IsNotFound(err), true)
	}
}

// signingRequest is the PEM of a request for a certificate.
func signingRequest(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
